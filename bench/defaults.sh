#!/usr/bin/env bash
# defaults.sh - what each net learns in 2 epochs with --net and --data alone: validation accuracy after each.
#
#	bench/defaults.sh DIRECTORY [RECORDS]
#
# Packs MNIST and RECORDS (10000) of CIFAR-10 in DIRECTORY/RECORDS, trains each net whose row is not there yet, and prints the
# rows.  One thread, so that runs are comparable; run it with nice(1) beside other work.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
PATH=${BUILD:-$top/build}:$PATH
data=${TALLY_DATA:-$top/../shared/data}
records=${2:-10000}
dir=$1/$records
mkdir -p "$dir" && cd "$dir"

[ -e mnist.rec ] || im2rec -q --split train -o mnist.rec "$data/mnist"
[ -e mnist-test.rec ] || im2rec -q --split test -o mnist-test.rec "$data/mnist"
[ -e cifar.rec ] || im2rec -q --split train --part 0/$((50000 / records)) -o cifar.rec "$data/cifar-10-binary.tar.xz"
[ -e cifar-test.rec ] || im2rec -q --split test --part 0/5 -o cifar-test.rec "$data/cifar-10-binary.tar.xz"

while read -r set net; do
	row=$(echo "$set-$net" | tr -d ' ')
	if [ ! -e "$row.row" ]; then
		# shellcheck disable=SC2086
		pworker --net $net --data "$set.rec" --val "$set-test.rec" --epochs 2 --threads 1 --log "$row.tsv" 2>"$row.err" ||
			{ tail -n 1 "$row.err"; continue; }
		awk -F'\t' -v set="$set" -v net="$net" 'BEGIN { OFS = FS } $5 == "validation" { v = v OFS $10 }
			END { print set, net v }' "$row.tsv" >"$row.row"
	fi
	cat "$row.row"
done <<'END'
cifar vgg --layers 19
mnist mlp
mnist lenet
cifar mlp
cifar lenet
cifar fast
cifar resnet --layers 20
cifar inception
cifar vgg --layers 11
cifar alexnet
cifar googlenet
cifar resnet --variant small
cifar inception-bn
cifar vgg --layers 16
cifar vgg --layers 13
cifar vgg --layers 11 --norm bn
cifar alexnet --variant torch
cifar googlenet --variant torch
cifar vgg --layers 19 --norm bn
cifar resnet --layers 110
cifar resnet --layers 50
END
