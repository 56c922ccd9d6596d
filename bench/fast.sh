#!/usr/bin/env bash
# fast.sh - training the fast net on CIFAR-10: seconds of an epoch, by one worker, by two, and by PyTorch.
#
#	PEER_TORCH=python3 bench/fast.sh [--rounds N] [--epochs N] [--dtype f32|bf16] [--table FILE]
#
# tally trains N epochs (1) of the recipe fast-muon-8: one worker with two threads; and two workers with one thread and half
# of the batch each, which share a server.  The peer takes the steps of as many epochs of airbench's net, 25 of 2,000 images
# each, in mode MODE (cl), on random images that are in memory: it reads, augments and exchanges nothing.  All take turns in
# each of N rounds (3).  tally's seconds are those of the whole command, its start included; nobody's have a validation.
# all_s is for the epochs with which each reaches 0.94 in bf16: 8 of tally's, and 8 of airbench94_muon.py.  --table appends
# to FILE what bench/results reads.
set -euo pipefail
. "$(dirname "$0")/arguments.sh"
. "$TOP/bench/machine.sh"
unset OMP_NUM_THREADS
rounds=3 epochs=1 dtype=bf16 table=''
arguments "rounds epochs dtype table" "$@"
[ -z "$table" ] || table=$(realpath -m "$table")
cd "$TOP"
export PYTHONDONTWRITEBYTECODE=1
data=${TALLY_DATA:-../shared/data} mode=${MODE:-cl}
machine=$(machine_of) commit=$(commit_of "$TOP" "$table") date=$(date -u +%FT%RZ)
[ -z "$table" ] || [ -s "$table" ] || printf '%s\n' trainer dtype epochs seconds machine commit date | paste -s >"$table"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

make -s BUILD="$BUILD" all >&2
im2rec -q "$data/cifar-10-binary.tar.xz" --split train -o "$dir/cifar.rec"

declare -A title=([one]="tally, a worker of 2 threads" [two]="tally, 2 workers of 1 thread" [torch]="PyTorch, $mode")
# note NAME SECONDS: appends the seconds to the file of that name, and to the table.
note() {
	echo "$2" >>"$dir/$1"
	[ -z "$table" ] || printf '%s\n' "${title[$1]}" "$dtype" "$epochs" "$2" "$machine" "$commit" "$date" | paste -s >>"$table"
}
# timed NAME COMMAND...: notes its seconds.
timed() {
	local name=$1 from=$EPOCHREALTIME
	shift
	"$@" >"$dir/out" 2>&1 || { tail -n 1 "$dir/out" >&2; exit 1; }
	note "$name" "$(awk -v from="$from" -v to="$EPOCHREALTIME" 'BEGIN { print to - from }')"
}
worker() { pworker @fast-muon-8 --dtype "$dtype" --data "$dir/cifar.rec" --epochs "$epochs" "$@"; }
workers() { dlaunch -n 2 -s 1 pworker @fast-muon-8 --dtype "$dtype" --data "$dir/cifar.rec" --epochs "$epochs" "$@"; }
peer() {
	local seconds
	seconds=$(echo $((25 * epochs)) |
		"${huge_pages[@]}" "$PEER_TORCH" bench/peers/train_torch.py --net fast --dtype "$dtype" --batch 2000 --threads 2 \
			--mode "$mode" --freeze-first |
		awk '/^[0-9]/ { for (i = 1; i <= NF; i++) s += $i } END { if (!s) exit 1; print s / 1e3 }')
	note torch "$seconds"
}
for ((r = 0; r < rounds; r++)); do
	timed one worker --threads 2
	timed two workers --threads 1 --batch 782
	[ -z "${PEER_TORCH:-}" ] || peer
done

row() { # NAME
	[ -s "$dir/$1" ] || return 0
	awk -v s="$(median <"$dir/$1")" -v one="$(median <"$dir/one")" -v n="$epochs" -v title="${title[$1]}" \
		-v all="$(tr '\n' ' ' <"$dir/$1")" \
		'BEGIN { printf "%s\t%.1f\t%d\t%.0f\t%.2f\t%s\n", title, s / n, 8, s / n * 8, s / one, all }'
}
echo "# $machine, $dtype, $rounds rounds of $epochs epochs"
printf 'trainer\tepoch_s\tepochs\tall_s\tof_one\trounds\n'
for name in one two torch; do
	row $name
done
