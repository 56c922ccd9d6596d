#!/usr/bin/env bash
# kills.sh - kill -9 of random processes of a job: seconds until it goes on, repeated steps, and the same bits.
#
#	TALLY_DATA=../shared/data bench/kills.sh [kills] [detached] [hosts]
#
# Two workers and two servers under two agents train inception on CIFAR-10; with "hosts" three of each do, in network
# namespaces of their own (as root).  They do it undisturbed, and then with kills of one or two processes at once: workers,
# servers, agents, and with "detached" launchers.  A stall is the longest time between two steps of the whole job about a
# kill, less the median step.  A worker that was started again reports the step at which it goes on; what it had reported
# before and does again are repeated steps.  The script ends with status 1 if a job fails or the weights differ.
set -eu
cd "$(dirname "$0")/.."
TOP=$PWD BUILD=${BUILD:-$PWD/build}
export PATH=$BUILD:$PATH TALLY_SHARE=$TOP/share TALLY_MODULES=$BUILD OMP_NUM_THREADS=1
kills=30 n=2 detached=''
for word; do case $word in detached) detached=yes ;; hosts) n=3 ;; *) kills=$word ;; esac; done
most=9
[ -z "$detached" ] || most=11
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
. "$TOP/tests/netns.sh"
. "$TOP/tests/flow/data.sh"
set +u
trap 'really_living | xargs -r kill -9; netns_away; rm -rf "$T"' EXIT
export XDG_STATE_HOME=$T/state
have cifar || { echo "kills.sh: $WHY" >&2; exit 1; }

# Stands for a remote shell to hosts that are all this machine, or to namespaces.
if [ $n = 2 ]; then
	printf '#!/bin/bash\nshift\nexec "$@"\n' >"$T/shell"
	printf '%s slots=2 addr=127.0.0.1\n' one two >"$T/hosts"
else
	netns_make one two three || { cat "$T/netns" >&2; exit 1; }
	printf '#!/bin/bash\nhost=$1\nshift\nexec ip netns exec %s$host "$@"\n' "$(netns_of '')" >"$T/shell"
	printf '%s slots=2 addr=10.93.0.%d\n' one 2 two 3 three 4 >"$T/hosts"
fi
chmod +x "$T/shell"
# process --worker|--server RANK
process() {
	local p words
	for p in $(really_living); do
		{ mapfile -d '' words <"/proc/$p/cmdline"; } 2>/dev/null
		case " ${words[*]} " in *" $1 $2/$n "*) echo "$p" ;; esac
	done
}
# agent RANK: that of a worker.
agent() { parent "$(parent "$(process --worker "$1")")" 2>/dev/null || :; }
launcher() { cut -d' ' -f1 "$XDG_STATE_HOME/tally/jobs/cut/lock"; }

# launch NAME [OPTION]...: the job's command.
launch() {
	local name=$1
	shift
	dlaunch "$@" -H "$T/hosts" --rsh "$T/shell {host}" -n $n -s $n --respawn 100000 --env STAND --env TALLY_SHARE \
		pworker --net inception --data "$CIFAR_TRAIN" --rand-crop --rand-mirror --batch 4 --frequent 1 \
		--steps $((kills * 6 + 10)) --seed 7 --save "$T/$name"
}
# follow NAME: what the job prints for people.
follow() {
	[ "$1" = cut ] && [ -n "$detached" ] || { launch "$1" 2>&1 >"$T/$1.log"; return; }
	launch "$1" --detach --job cut >"$T/name" && dlaunch attach cut 2>&1 >"$T/$1.log"
}
# train NAME: runs the job; $T/NAME.err has its lines, each after the time.
train() {
	follow "$1" | while read -r line; do echo "$EPOCHREALTIME $line"; done >"$T/$1.err"
	return "${PIPESTATUS[0]}"
}
steps() { grep -cs "worker 1: Epoch.*Batch" "$T/cut.err" || :; }

train whole || { echo "kills.sh: the undisturbed job failed" >&2; tail "$T/whole.err" >&2; exit 1; }
train cut & pid=$!
for ((k = 0; k < kills; k++)); do
	until [ "$(steps)" -ge $((k * 6 + 3)) ] 2>/dev/null; do
		kill -0 $pid 2>/dev/null || break 2
		read -rt 0.02 <> <(:) || :
	done
	read -rt 0.0$((RANDOM % 90 + 10)) <> <(:) || :
	case $((RANDOM % most)) in
	0) what="worker 0" p=$(process --worker 0) ;;
	1) what="worker 1" p=$(process --worker 1) ;;
	2) what="server 0" p=$(process --server 0) ;;
	3) what="server 1" p=$(process --server 1) ;;
	4) what="both workers" p="$(process --worker 0) $(process --worker 1)" ;;
	5) what="worker and server" p="$(process --worker 0) $(process --server 1)" ;;
	6) what="one agent" p=$(agent 1) ;;
	7) what="both agents" p="$(agent 0) $(agent 1)" ;;
	8) what="agent and worker" p="$(agent 0) $(process --worker 0)" ;;
	9) what="launcher" p=$(launcher) ;;
	10) what="launcher and agent" p="$(agent 0) $(launcher)" ;;
	esac
	# One that was killed before may not be there again.
	# shellcheck disable=SC2086
	if kill -9 $p; then
		echo "$EPOCHREALTIME kill $what" >>"$T/kills"
	else
		k=$((k - 1))
	fi 2>>"$T/errors"
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
for what in "worker 0" "worker 1" "server 0" "server 1" "both workers" "worker and server" "one agent" "both agents" \
	"agent and worker" launcher "launcher and agent" ""; do
	grep -v ^step "$T/stalls" | { [ -n "$what" ] && grep "^$what *$(printf '\t')" || cat; } | sort -t "$(printf '\t')" -k2n |
		awk -F '\t' -v what="${what:-all}" '{ t[NR] = $2; if ($3 > r) r = $3 }
			END { if (NR > 0) printf "%s\t%d\t%.2f\t%.2f\t%d\n", what, NR, t[int((NR + 1) / 2)], t[NR], r }'
done
grep ^step "$T/stalls" | awk -F '\t' '{ printf "# a step takes %.3f s\n", $2 }'
for f in "$T"/whole-*.safetensors; do
	cmp "$f" "${f/whole/cut}" || { echo "kills.sh: the weights differ" >&2; exit 1; }
done
echo "# the weights have the bits of the undisturbed job"
