#!/usr/bin/env bash
# profile.sh - what each layer of the nets costs: writes $BUILD/profile/NET.tsv (log(5)), and prints the whole step and the three
# most expensive rows of each.
#
#	bench/profile.sh [OPTION ...]	options of pworker, such as --dtype bf16 --threads 2
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-$PWD/build}
mkdir -p "$BUILD/profile"
while read -r name options; do
	tsv=$BUILD/profile/$name.tsv
	# shellcheck disable=SC2086
	"$BUILD/pworker" $options --profile 5 "$@" >"$tsv.new"
	mv "$tsv.new" "$tsv"
	echo "$name:"
	{ grep '^layer' "$tsv"; grep -v '^#\|^layer' "$tsv" | sort -t'	' -k3,3gr | head -4; } | "$BUILD/plog" --profile --all
done <<'END'
mlp --net mlp --batch 128
lenet --net lenet --batch 128
inception --net inception --batch 128
inception-bn --net inception-bn --batch 16
resnet-110 --net resnet --layers 110 --batch 128
vgg16-32 --net vgg --shape 3x32x32 --classes 10 --batch 128
fast --net fast --batch 500
resnet-50 --net resnet --layers 50 --batch 32
alexnet --net alexnet --batch 32
googlenet --net googlenet --batch 32
END
