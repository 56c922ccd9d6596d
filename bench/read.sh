#!/usr/bin/env bash
# read.sh - reading records: ours, MXNet's, and decoding alone, in turn, into images/s and their ratios.
#
#	PEER_MXNET=python3 PUBLIC=folder bench/read.sh [rounds]
#
# tally gives batches of pixels, of which engines make numbers on their way in; tally+f32 makes them too, in one thread of
# its own, as MXNet's batches have them.
#
# PUBLIC names a build by `make JPEGINT=0 PNGPLAIN=0 BUILD=folder folder/bench/read`, which decodes JPEG by the public
# interface of libjpeg-turbo alone, and PNG by libspng alone.  By processor time the own entropy decoder reads 24 to 31 %
# more photographs of 224x224, and the own path of plain PNG 1.8 to 2 times as many images of CIFAR-10 (libjpeg-turbo
# 2.1.5, libspng 0.7.3, libdeflate 1.14, two EPYC, one or two threads, medians of rounds in turn).
#
# PEER_MXNET names a python that has mxnet; without it that column is left out.  The records are packed from TALLY_DATA
# (../shared/data): photographs of 224x224, eight times over, and CIFAR-10 as PNG.  A round is an epoch of each; medians
# are shown, of images a second and of images a second of processor time, which other programs disturb less.  The last
# column is the part of THREADS processors (2) that the reader takes beside a training of 1,100 images a second.
set -eu
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build} LC_ALL=C
data=${TALLY_DATA:-../shared/data} rounds=${1:-3} threads=${THREADS:-2} batch=128
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

make -s BUILD="$BUILD" "$BUILD/bench/read" "$BUILD/im2rec" >&2

photographs() {
	tar xf "$data/imagenette-sample.tar" -C "$dir"
	"$BUILD/im2rec" -q "$dir/imagenette/train" -o "$dir/one.rec"
	for _ in 1 2 3 4 5 6 7 8; do cat "$dir/one.rec"; done >"$dir/photographs.rec"
	# MXNet needs an index with keys of its own.
	awk -F'\t' -v size="$(stat -c %s "$dir/one.rec")" '{ at[n++] = $2 }
		END { for (i = 0; i < 8; i++) for (k = 0; k < n; k++) printf "%d\t%.0f\n", i * n + k, at[k] + i * size }' \
		"$dir/one.idx" >"$dir/photographs.idx"
}
cifar() {
	"$BUILD/im2rec" -q "$data/cifar-10-binary.tar.xz" --split train -o "$dir/cifar.rec"
}

. bench/median.sh

measure() { # NAME SHAPE
	local rec=$dir/$1.rec shape=$2 r
	for ((r = 0; r < rounds; r++)); do
		"$BUILD/bench/read" --bare --threads "$threads" --epochs 2 "$rec" | tail -n 1 >>"$dir/$1.bare"
		"$BUILD/bench/read" --threads "$threads" --shape "$shape" --batch "$batch" --epochs 2 "$rec" | tail -n 1 >>"$dir/$1.tally"
		"$BUILD/bench/read" --numbers --threads "$threads" --shape "$shape" --batch "$batch" --epochs 2 "$rec" | tail -n 1 \
			>>"$dir/$1.tally+f32"
		[ -z "${PUBLIC:-}" ] || "$PUBLIC/bench/read" --threads "$threads" --shape "$shape" --batch "$batch" --epochs 2 "$rec" |
			tail -n 1 >>"$dir/$1.public"
		[ -z "${PEER_MXNET:-}" ] ||
			"$PEER_MXNET" bench/peers/read_mxnet.py "$rec" "$shape" "$threads" "$batch" 2>"$dir/err" >>"$dir/$1.mxnet" ||
			echo "mxnet: left out: $(tail -n 1 "$dir/err")" >&2
	done
	for who in tally tally+f32 public bare mxnet; do
		[ -s "$dir/$1.$who" ] || continue
		printf '%s\t%s\t%s\t%.0f\t%.0f\n' "$1" "$shape" $who "$(awk '{ print $1 / $2 }' "$dir/$1.$who" | median)" \
			"$(awk '{ print $1 / $3 }' "$dir/$1.$who" | median)"
	done
}

printf 'records\tshape\treader\timages_per_s\timages_per_cpu_s\tof_tally\tshare_at_1100_per_s\n'
photographs
cifar
{
	measure photographs 3x224x224
	measure cifar 3x28x28
} | awk -F'\t' -v OFS='\t' -v threads="$threads" '
    $3 == "tally" { t = $5 }
    { print $0, sprintf("%.2f", $5 / t), sprintf("%.2f %%", 110000 / $5 / threads) }'
