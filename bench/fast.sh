#!/usr/bin/env bash
# fast.sh - training the fast net on CIFAR-10 in bf16: seconds of an epoch, by one worker, by two, and by PyTorch.
#
#	PEER_TORCH=python3 bench/fast.sh [ROUNDS]
#
# tally trains by the recipe fast-muon-8: one worker with two threads; and two workers with one thread and half of the batch
# each, which share a server.  The peer takes the 25 steps, of 2,000 images each, of an epoch of airbench's net in mode MODE
# (cl), on random images that are in memory: it reads, augments and exchanges nothing.  All take turns in each of ROUNDS (3)
# rounds.  tally's seconds are those of the whole command, its start included; nobody's have a validation.  all_s is for the
# epochs with which each reaches 0.94 in bf16: 8 of tally's, and 8 of airbench94_muon.py.
set -euo pipefail
. "$(dirname "$0")/arguments.sh"
unset OMP_NUM_THREADS
cd "$TOP"
export PYTHONDONTWRITEBYTECODE=1
data=${TALLY_DATA:-../shared/data} rounds=${1:-3} mode=${MODE:-cl}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

make -s BUILD="$BUILD" all >&2
im2rec -q "$data/cifar-10-binary.tar.xz" --split train -o "$dir/cifar.rec"

# timed NAME COMMAND...: appends its seconds to the file of that name.
timed() {
	local name=$1 from=$EPOCHREALTIME
	shift
	"$@" >"$dir/out" 2>&1 || { tail -n 1 "$dir/out" >&2; exit 1; }
	awk -v from="$from" -v to="$EPOCHREALTIME" 'BEGIN { print to - from }' >>"$dir/$name"
}
worker() { pworker @fast-muon-8 --dtype bf16 --data "$dir/cifar.rec" --epochs 1 "$@"; }
workers() { dlaunch -n 2 -s 1 pworker @fast-muon-8 --dtype bf16 --data "$dir/cifar.rec" --epochs 1 "$@"; }
peer() {
	echo 25 | "$PEER_TORCH" bench/peers/train_torch.py --net fast --dtype bf16 --batch 2000 --threads 2 --mode "$mode" |
		awk '/^[0-9]/ { for (i = 1; i <= NF; i++) s += $i } END { if (!s) exit 1; print s / 1e3 }' >>"$dir/torch"
}
for ((r = 0; r < rounds; r++)); do
	timed one worker --threads 2
	timed two workers --threads 1 --batch 782
	[ -z "${PEER_TORCH:-}" ] || peer
done

# row NAME EPOCHS TITLE
row() {
	[ ! -s "$dir/$1" ] || awk -v s="$(median <"$dir/$1")" -v one="$(median <"$dir/one")" -v epochs="$2" -v title="$3" \
		-v all="$(tr '\n' ' ' <"$dir/$1")" \
		'BEGIN { printf "%s\t%.1f\t%d\t%.0f\t%.2f\t%s\n", title, s, epochs, s * epochs, s / one, all }'
}
echo "# $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $rounds rounds"
printf 'trainer\tepoch_s\tepochs\tall_s\tof_one\trounds\n'
row one 8 "tally, a worker of 2 threads"
row two 8 "tally, 2 workers of 1 thread"
row torch 8 "PyTorch, $mode"
