#!/usr/bin/env bash
# slow.sh - seconds to an accuracy by mode, in jobs of which one worker is slower than the others.
#
#	bench/slow.sh TRAIN.rec VAL.rec [--to 0.75] [--slow 4] [--workers 3] [--epochs 10] [--modes LIST] [--out DIR] ...
#
# Also --net, --batch and --lr. The last worker is stopped (SIGSTOP) for 3/4 of the time if it is to be 4 times slower.
# Workers have one thread, and one server is beside them, all on this machine. The modes are sync, slack4, async,
# backup1, shares, in which each worker's batch is in proportion to its speed, and balance, in which it follows that.
# Jobs with slack4 and async end after as many steps of all workers as the others would take without delay.
#
# Prints a row for each mode: the seconds to the first validation of worker 0 that has the accuracy, or a hyphen; the
# best accuracy; the steps of each worker; and how many updates the gradients of the slow one were behind on average.
# DIR (slow) keeps the logs of the workers 0, and accuracy.svg, their figure by plog(1).
set -eu
. "$(dirname "$0")/arguments.sh"
[ $# -gt 1 ] || usage
train=$1 val=$2 to=0.75 slow=4 workers=3 epochs=10 net=resnet batch=64 lr=0.1 modes="sync slack4 async backup1 shares balance" out=slow
arguments "to slow workers epochs net batch lr modes out" "${@:3}"
mkdir -p "$out"
T=$(mktemp -d) pids=()
trap '[ -z "${pids[*]}" ] || kill -9 "${pids[@]}" 2>/dev/null || :; rm -rf "$T"' EXIT
mkfifo "$T/at" "$T/never"
exec 8<>"$T/never"
# brake PID: stops a process for a part of each 40 ms while it lives.
brake() {
	while kill -STOP "$1" 2>/dev/null; do
		read -rt "$(printf '0.%03d' $((40 - 40 / slow)))" -u 8 || :
		kill -CONT "$1" 2>/dev/null || break
		read -rt "$(printf '0.%03d' $((40 / slow)))" -u 8 || :
	done
}
# awk code that finds the columns of a log
head='$1 == "time_s" { for (i = 1; i <= NF; i++) at[$i] = i; next } '
run() { # MODE OPTION...
	local mode=$1 at
	shift
	pserver --listen 127.0.0.1:0 --workers "$workers" --plain --ready-fd 9 9>"$T/at" >/dev/null 2>"$T/server.err" & pids=($!)
	read -r at <"$T/at"
	for ((w = 0; w < workers; w++)); do
		pworker --net "$net" --data "$train" --val "$val" --lr "$lr" --shape 3x28x28 --pad 4 --rand-crop \
			--rand-mirror --mean-rgb 123.68,116.779,103.939 --init msra --wd 1e-4 --seed 1 --threads 1 --read-threads 1 \
			--servers "$at" --worker "$w/$workers" --plain "$@" >"$T/$w.log" 2>"$T/$w.err" & pids+=($!)
	done
	brake "${pids[-1]}" & braking=$!
	for p in "${pids[@]:1}" "${pids[0]}"; do wait "$p" || { cat "$T"/*.err >&2; exit 1; }; done
	wait "$braking"
	pids=()
	cp "$T/0.log" "$out/$mode.tsv"
	awk -F '\t' -v to="$to" -v mode="$mode" "$head"'
		$at["event"] == "validation" { a = $at["accuracy"]; best = a > best ? a : best; if (s == "" && a >= to) s = $1 }
		END { printf "%s\t%s\t%.4f", mode, s == "" ? "-" : s, best }' "$T/0.log"
	for ((w = 0; w < workers; w++)); do
		awk -F '\t' -v before="$([ $w = 0 ] && printf '\\t' || printf ' ')" "$head"'
			$at["event"] == "step" { n++ } END { printf "%s%d", before, n }' "$T/$w.log"
	done
	awk -F '\t' "$head"'$at["event"] == "staleness" && $at["class"] == "all" { n += $at["updates"]
		sum += $at["updates"] * $at["staleness"] } END { print "\t" (n > 0 ? sum / n : "-") }' "$T/$((workers - 1)).log"
}
# shares: batches in proportion to speeds, whose sum is that of the other modes.
shares() {
	awk -v n="$workers" -v batch="$batch" -v slow="$slow" 'BEGIN {
		each = n * batch / (n - 1 + 1 / slow)
		for (i = 1; i < n; i++) printf "%d:", int(each + 0.5)
		print n * batch - (n - 1) * int(each + 0.5) }'
}
records=$(im2rec --list "$train" | wc -l)
updates=$((epochs * (records / batch)))
printf 'mode\tseconds\tbest\tsteps\tstaleness\n'
for mode in $modes; do
	case $mode in
	sync) run sync --batch "$batch" --epochs "$epochs" ;;
	slack*) run "$mode" --batch "$batch" --slack "${mode#slack}" --updates $updates ;;
	async) run async --batch "$batch" --async --updates $updates ;;
	backup*) run "$mode" --batch "$batch" --epochs "$epochs" --backup "${mode#backup}" ;;
	balance) run balance --batch "$batch" --balance auto --epochs "$epochs" ;;
	shares) run shares --batch "$(shares)" --epochs "$epochs" ;;
	*) usage ;;
	esac
done
plog --compare --svg "$out/accuracy.svg" --figures accuracy "$out"/*.tsv
