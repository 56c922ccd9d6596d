#!/usr/bin/env bash
# im2rec.sh - images packed per second by im2rec and by others, in turn: resized photographs, and small files unchanged.
#
#	PHOTOS=folder SMALL=folder PEER_MXNET=python3 PEER_IM2REC=program PUBLIC=folder bench/im2rec.sh [rounds]
#
# PHOTOS holds photographs, as https://github.com/EliSchwartz/imagenet-sample-images does: 1,000 of about 500x375.
# SMALL holds class folders of small files, as bench/peers/cifar_png.py makes them of CIFAR-10.
# Contenders take turns, read from a warm cache and write into one folder.  Beside the median of images/s stands what
# one second of a processor packs, which other programs disturb less.  What is not there is left out.
#
# A JPEG is decoded smaller only if five times the result's size remain, for black text and the like.  24 photographs of
# 1500 to 4608 pixels take .46 seconds of a processor at 256 and .33 at 100; with three times they took .41 and .30.
#
# PUBLIC names a build by `make JPEGINT=0 PNGPLAIN=0 BUILD=folder folder/im2rec`, which decodes JPEG by the public interface
# of libjpeg-turbo alone, and PNG by libspng alone.  Small files are then also resized, to SMALL_SIZE.  By processor time
# the own entropy decoder packs 12 to 15 % more photographs at 128, 6 % at 256, and 1 % when they are copied, which only
# checks their codes; it stays because reading gains 24 to 31 % (read.sh).  The own path of plain PNG packs 84 % more images
# of CIFAR-10 unchanged, and 40 to 45 % at 40 pixels.  (libjpeg-turbo 2.1.5, libspng 0.7.3, libdeflate 1.14, two EPYC, one
# thread, medians of rounds in turn, 200 and 300 photographs, 10,000 images of CIFAR-10.)
#
#	bare	turbojpeg and the resizer by bare calls, from memory to memory: im2rec_bare
#	tar	GNU tar into a pipe that is read
#	public	the im2rec of PUBLIC
#	mxnet	im2rec.py of MXNet with --num-thread 2, its list made before
#	mxnet_c	MXNet's tools/im2rec.cc, which has one thread: bench/peers/im2rec.sh builds it
set -eu
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build} LC_ALL=C
rounds=${1:-3} threads=${THREADS:-2} size=${SIZE:-256} small_size=${SMALL_SIZE:-40}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
make -s BUILD="$BUILD" "$BUILD/im2rec" "$BUILD/bench/im2rec_bare"
: >"$dir/times"
mxnet=
if [ -n "${PEER_MXNET:-}" ]; then
	mxnet=$("$PEER_MXNET" -c '
import importlib.util, os
print(os.path.join(os.path.dirname(importlib.util.find_spec("mxnet").origin), "tools", "im2rec.py"))')
else
	echo "mxnet: left out: PEER_MXNET names no python" >&2
fi

# run WHAT NAME PICTURES COMMAND...: notes images/s, and images a second of one processor.
run() {
	local what=$1 name=$2 n=$3 said
	shift 3
	local TIMEFORMAT='%R %U %S'
	{ time "$@" >"$dir/out" 2>"$dir/err"; } 2>"$dir/time" || {
		echo "$name: $(tail -n 1 "$dir/err")" >&2
		[ "$name" != tally ] || exit 1
		return 0
	}
	said=0
	[ "$name" != bare ] || said=$(sed -n 's/.* \([0-9]*\) images.s$/\1/p' "$dir/out")
	awk -v what="$what" -v name="$name" -v n="$n" -v said="$said" \
		'{ print what, name, name == "bare" ? said : n / $1, n / ($2 + $3) }' "$dir/time" >>"$dir/times"
	rm -f "$dir/out"
}

if [ -n "${PHOTOS:-}" ]; then
	find "$(cd "$PHOTOS" && pwd)" -iname '*.jpg' -o -iname '*.jpeg' | sort >"$dir/photos"
	awk '{ print NR - 1 "\t0\t" substr($0, 2) }' "$dir/photos" >"$dir/photos.lst"
	mapfile -t photo <"$dir/photos"
	for ((r = 0; r < rounds; r++)); do
		run photos bare ${#photo[@]} "$BUILD/bench/im2rec_bare" --threads "$threads" --resize "$size" "${photo[@]}"
		run photos tally ${#photo[@]} "$BUILD/im2rec" -q --threads "$threads" --resize "$size" -o "$dir/p.rec" "$dir/photos.lst" /
		[ -z "${PUBLIC:-}" ] || run photos public ${#photo[@]} \
			"$PUBLIC/im2rec" -q --threads "$threads" --resize "$size" -o "$dir/p.rec" "$dir/photos.lst" /
		run copy tally ${#photo[@]} "$BUILD/im2rec" -q --threads "$threads" -o "$dir/p.rec" "$dir/photos.lst" /
		[ -z "${PUBLIC:-}" ] || run copy public ${#photo[@]} \
			"$PUBLIC/im2rec" -q --threads "$threads" -o "$dir/p.rec" "$dir/photos.lst" /
		[ -z "$mxnet" ] || run photos mxnet ${#photo[@]} \
			"$PEER_MXNET" "$mxnet" --resize "$size" --quality 95 --num-thread "$threads" "$dir/photos" /
		[ -z "${PEER_IM2REC:-}" ] || run photos mxnet_c ${#photo[@]} \
			"$PEER_IM2REC" "$dir/photos.lst" / "$dir/c.rec" resize="$size" quality=95
	done
else
	echo "photographs: left out: PHOTOS names no folder" >&2
fi

if [ -n "${SMALL:-}" ]; then
	small=$(cd "$SMALL" && pwd)
	find "$small" -type f | sort >"$dir/list"
	awk '{ print NR - 1 "\t0\t" substr($0, 2) }' "$dir/list" >"$dir/small.lst"
	n=$(wc -l <"$dir/list")
	for ((r = 0; r < rounds; r++)); do
		run small tar "$n" sh -c "tar cf - -C '$small' . | cat"
		run small tally "$n" "$BUILD/im2rec" -q --threads "$threads" -o "$dir/s.rec" "$small"
		[ -z "$mxnet" ] || run small mxnet "$n" \
			"$PEER_MXNET" "$mxnet" --pass-through --num-thread "$threads" "$dir/small" /
		[ -z "${PUBLIC:-}" ] || run small public "$n" "$PUBLIC/im2rec" -q --threads "$threads" -o "$dir/s.rec" "$small"
		[ -z "${PUBLIC:-}" ] || for who in tally public; do
			[ $who = tally ] && from=$BUILD || from=$PUBLIC
			run small"$small_size" $who "$n" "$from/im2rec" -q --threads "$threads" \
				--resize "$small_size" -o "$dir/s.rec" "$small"
		done
		[ -z "${PEER_IM2REC:-}" ] || run small mxnet_c "$n" \
			"$PEER_IM2REC" "$dir/small.lst" / "$dir/c.rec" unchanged=1
	done
else
	echo "small files: left out: SMALL names no folder" >&2
fi

echo "$rounds rounds in turn, $threads threads; $(uname -m), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)," \
	"$(getconf _NPROCESSORS_ONLN) processors"
awk '
function median(list,   v, n, i, j, t) {
	n = split(list, v, " ")
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
	return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
}
{
	k = $1 " " $2
	if (!(k in wall)) order[++keys] = k
	wall[k] = wall[k] " " $3
	cpu[k] = cpu[k] " " $4
}
END {
	printf "%-8s %-7s %10s %16s %14s\n", "", "", "images/s", "images/cpu-s", "tally is"
	for (i = 1; i <= keys; i++) {
		split(order[i], part, " ")
		us = part[1] " tally"
		printf "%-8s %-7s %10.0f %16.0f %13.2fx\n", part[1], part[2], median(wall[order[i]]), median(cpu[order[i]]),
			median(wall[us]) / median(wall[order[i]])
	}
}' "$dir/times"
