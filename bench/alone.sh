#!/usr/bin/env bash
# alone.sh - images per second of two workers in a job, beside two that exchange nothing at the same time, in turns.
#
#	[PEER_TORCH=python] bench/alone.sh RECORDS [--rounds N] [--steps N] [--batch N] [--nets "inception resnet vgg"]
#
# Workers have one thread.  Images are of 28x28 pixels, those of vgg of 32x32.  "2x2" is a job with two servers, "tcp" is
# one that may not share memory, "2x0" is one whose workers are their own servers, "ddp" is PyTorch's DDP over gloo;
# "alone" and "ddp_alone" are two processes without a job.  All take turns in each of N rounds (5).  A rate is that of
# both workers, by the median step of each; the first four steps are not counted.  Every second round has the opposite
# order.  Prints the median of all rounds, and its ratio to that of the same program alone.
set -eu
. "$(dirname "$0")/arguments.sh"
[ $# -gt 0 ] || usage
records=$1 rounds=5 steps=16 batch=64 nets="inception resnet vgg"
arguments "rounds steps batch nets" "${@:2}"
T=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || :; rm -rf "$T"' EXIT

# rate LOG...: images a second of all workers whose steps these logs have.
rate() {
	awk -F '\t' -v batch="$batch" '
		FNR == 1 { file++ }
		$1 == "time_s" { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["event"] == "step" { w = file " " $at["rank"]; if (n[w]++ > 3) print w, $1 - last[w]; last[w] = $1 }' "$@" |
		sort -k 1,2 -k 3n | awk -v batch="$batch" '
			function add() { if (n > 0) sum += batch / ((v[int((n + 1) / 2)] + v[int(n / 2) + 1]) / 2); n = 0 }
			$1 " " $2 != w { add(); w = $1 " " $2 }
			{ v[++n] = $3 }
			END { add(); printf "%.2f\n", sum }'
}
# both COMMAND...: two processes at the same time, whose output is a file each.
both() {
	"$@" >"$T/0" 2>"$T/0.err" & local first=$!
	"$@" >"$T/1" 2>"$T/1.err" & wait $first && wait $! || { cat "$T"/?.err >&2; exit 1; }
}
# job DLAUNCH_OPTION...
job() { dlaunch "$@" "${worker[@]}" >"$T/0" 2>"$T/err" || { cat "$T/err" >&2; exit 1; }; }
# ddp HOOK: PyTorch's two processes print the median of their steps.
ddp() {
	local port=$((20000 + RANDOM % 10000)) pids=() i
	for i in 0 1; do
		"$PEER_TORCH" "$TOP/bench/peers/codec_ddp.py" $i 2 127.0.0.1:$port "$1" "$net" "$batch" "$steps" $side \
			>"$T/$i" 2>"$T/$i.err" & pids+=($!)
	done
	wait "${pids[0]}" && wait "${pids[1]}" || { cat "$T"/?.err >&2; exit 1; }
	cat "$T/0" "$T/1" | awk -v batch="$batch" '{ sum += 1000 * batch / $1 } END { printf "%.2f\n", sum }'
}
# measure NAME: images a second of one contender.
measure() {
	case $1 in
	alone) both "${worker[@]}" && rate "$T/0" "$T/1" ;;
	2x2) job -n 2 -s 2 && rate "$T/0" ;;
	tcp) TALLY_TRANSPORT=tcp job -n 2 -s 2 && rate "$T/0" ;;
	2x0) job -n 2 -s 0 && rate "$T/0" ;;
	ddp_alone) ddp alone ;;
	ddp) ddp none ;;
	esac
}
names=(alone 2x2 tcp 2x0)
[ -z "${PEER_TORCH:-}" ] || names+=(ddp_alone ddp)
printf 'net\tjob\timages_per_s\tto_alone\n'
for net in $nets; do
	[ "$net" = vgg ] && side=32 || side=28
	worker=(pworker --net "$net" --data "$records" --shape 3x${side}x$side --classes 10 --batch "$batch" --steps "$steps"
		--seed 1 --threads 1 --frequent 1)
	for ((i = 0; i < rounds; i++)); do
		for ((k = 0; k < ${#names[@]}; k++)); do
			name=${names[i % 2 ? ${#names[@]} - 1 - k : k]}
			measure "$name" >>"$T/$net.$name"
		done
	done
	for name in "${names[@]}"; do
		middle=$(median <"$T/$net.$name")
		case $name in *alone) alone=$middle ;; esac
		awk -v row="$net	$name" -v m="$middle" -v a="$alone" 'BEGIN { printf "%s\t%.1f\t%.3f\n", row, m, m / a }'
	done
done
