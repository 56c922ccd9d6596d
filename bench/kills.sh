#!/usr/bin/env bash
# kills.sh - kill -9 of random workers and servers of a job: seconds until it goes on, repeated steps, and the same bits.
#
#	TALLY_DATA=../shared/data bench/kills.sh [kills]
#
# Two workers and two servers train inception on CIFAR-10, undisturbed and then with kills of one or two processes at
# once.  A stall is the longest time between two steps of the whole job about a kill, less the median step.  A worker that
# was started again reports the step at which it goes on; what it had reported before and does again are repeated steps.
# The script ends with status 1 if a job fails or the weights differ.
set -eu
cd "$(dirname "$0")/.."
TOP=$PWD BUILD=${BUILD:-$PWD/build}
export PATH=$BUILD:$PATH TALLY_SHARE=$TOP/share TALLY_MODULES=$BUILD OMP_NUM_THREADS=1
kills=${1:-30}
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
. "$TOP/tests/flow/data.sh"
set +u
trap 'really_living | xargs -r kill -9; rm -rf "$T"' EXIT
have cifar || { echo "kills.sh: $WHY" >&2; exit 1; }

# train NAME: runs the job; $T/NAME.err has its lines, each after the time.
train() {
	dlaunch -n 2 -s 2 --respawn 100000 --env STAND --env TALLY_SHARE pworker --net inception --data "$CIFAR_TRAIN" \
		--rand-crop --rand-mirror --batch 4 --frequent 1 --steps $((kills * 6 + 10)) --seed 7 --save "$T/$1" 2>&1 >"$T/$1.log" |
		while read -r line; do echo "$EPOCHREALTIME $line"; done >"$T/$1.err"
	return "${PIPESTATUS[0]}"
}
steps() { grep -cs "worker 1: Epoch.*Batch" "$T/cut.err" || :; }

train whole || { echo "kills.sh: the undisturbed job failed" >&2; tail "$T/whole.err" >&2; exit 1; }
train cut & pid=$!
for ((n = 0; n < kills; n++)); do
	until [ "$(steps)" -ge $((n * 6 + 3)) ] 2>/dev/null; do
		kill -0 $pid 2>/dev/null || break 2
		read -rt 0.02 <> <(:) || :
	done
	read -rt 0.0$((RANDOM % 90 + 10)) <> <(:) || :
	case $((RANDOM % 6)) in
	0) what="worker 0" p=$(real_process --worker 0) ;;
	1) what="worker 1" p=$(real_process --worker 1) ;;
	2) what="server 0" p=$(real_process --server 0) ;;
	3) what="server 1" p=$(real_process --server 1) ;;
	4) what="both workers" p="$(real_process --worker 0) $(real_process --worker 1)" ;;
	5) what="worker and server" p="$(real_process --worker 0) $(real_process --server 1)" ;;
	esac
	# shellcheck disable=SC2086
	kill -9 $p
	echo "$EPOCHREALTIME kill $what" >>"$T/kills"
done
wait $pid || { echo "kills.sh: the job failed" >&2; tail "$T/cut.err" >&2; exit 1; }

sort -n "$T/cut.err" "$T/kills" | awk '
	$2 == "kill" { kill_at[++k] = $1; what[k] = $3 " " $4 " " $5; next }
	/worker .: Epoch.*Batch/ { step = $0; sub(/.*Batch \[/, "", step); sub(/\].*/, "", step)
		rank = $3 + 0; last[rank] = step; if ($1 > done[step]) done[step] = $1; if (step > most) most = step }
	/goes on at step/ { rank = $3 + 0; again = last[rank] - $NF; if (again > repeated[k]) repeated[k] = again }
	function median(v, n,   i, j, x) {
		for (i = 2; i <= n; i++) { x = v[i]; for (j = i - 1; j > 0 && v[j] > x; j--) v[j + 1] = v[j]; v[j + 1] = x }
		return v[int((n + 1) / 2)]
	}
	END {
		for (s = 2; s <= most; s++) if (done[s] && done[s - 1]) { gap[s] = done[s] - done[s - 1]; all[++n] = gap[s] }
		usual = median(all, n)
		kill_at[k + 1] = 1e18
		for (i = 1; i <= k; i++) {
			for (s in gap) if (done[s] > kill_at[i] && done[s - 1] < kill_at[i + 1] && gap[s] - usual > stall[i])
				stall[i] = gap[s] - usual
			printf "%s\t%.3f\t%d\n", what[i], stall[i], repeated[i]
		}
		printf "step\t%.3f\n", usual
	}' >"$T/stalls"
printf 'killed\tkills\tmedian_stall_s\tlongest_stall_s\trepeated_steps_most\n'
for what in "worker 0" "worker 1" "server 0" "server 1" "both workers" "worker and server" ""; do
	grep -v ^step "$T/stalls" | { [ -n "$what" ] && grep "^$what" || cat; } | sort -t "$(printf '\t')" -k2n |
		awk -F '\t' -v what="${what:-all}" '{ t[NR] = $2; if ($3 > r) r = $3 }
			END { if (NR > 0) printf "%s\t%d\t%.2f\t%.2f\t%d\n", what, NR, t[int((NR + 1) / 2)], t[NR], r }'
done
grep ^step "$T/stalls" | awk -F '\t' '{ printf "# a step takes %.3f s\n", $2 }'
for f in "$T"/whole-*.safetensors; do
	cmp "$f" "${f/whole/cut}" || { echo "kills.sh: the weights differ" >&2; exit 1; }
done
echo "# the weights have the bits of the undisturbed job"
