#!/usr/bin/env bash
# kills.sh - kill -9 of random processes of a job: seconds until it goes on, repeated steps, and the same bits.
#
#	TALLY_DATA=../shared/data bench/kills.sh [kills] [detached] [hosts] [async]
#
# Two workers and two servers under two agents train inception on CIFAR-10; with "hosts" three of each do, in network
# namespaces of their own (as root).  They do it undisturbed, and then with kills of one or two processes at once: workers,
# servers, agents, and with "detached" launchers.  The moments of the kills take turns: any, the start of what was killed
# before, while a cut or a checkpoint is written, and during a validation.  A stall is the longest time between two steps of
# the whole job about a kill, less the median time between such steps.  A worker that was started again reports the step at
# which it goes on; what it had reported before and does again are repeated steps.  The script ends with status 1 if a job
# fails or the weights differ.  With "async" the workers do not wait for each other: a stall is that of any of them, and the
# script ends with status 1 if the log has a batch twice.
set -eu
cd "$(dirname "$0")/.."
TOP=$PWD BUILD=${BUILD:-$PWD/build}
export PATH=$BUILD:$PATH TALLY_SHARE=$TOP/share TALLY_MODULES=$BUILD OMP_NUM_THREADS=1
kills=30 n=2 detached='' async=''
for word; do case $word in detached) detached=yes ;; hosts) n=3 ;; async) async=--async ;; *) kills=$word ;; esac; done
most=9
[ -z "$detached" ] || most=11
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
. "$TOP/tests/netns.sh"
. "$TOP/tests/flow/data.sh"
set +u
trap 'really_living | xargs -r kill -9 || :; netns_away; rm -rf "$T"' EXIT
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
# agent RANK: that of a worker.  Its shims have its name, but a process below them.
agent() {
	local p words child below
	for p in $(pgrep -x dlaunch); do
		{ mapfile -d '' words <"/proc/$p/cmdline"; } 2>/dev/null
		case "${words[1]-} ${words[2]-}" in --agent*-"$1") ;; *) continue ;; esac
		tr '\0' '\n' 2>/dev/null <"/proc/$p/environ" | grep -qxF "STAND=$STAND" || continue
		below=
		for child in $(cat "/proc/$p/task/$p/children" 2>/dev/null); do
			case $(cat "/proc/$child/comm" 2>/dev/null) in pworker | pserver) below=yes ;; esac
		done
		[ -n "$below" ] || echo "$p"
	done
}
launcher() { cut -d' ' -f1 "$XDG_STATE_HOME/tally/jobs/cut/lock"; }

# launch NAME [OPTION]...: the job's command.
launch() {
	local name=$1
	shift
	dlaunch "$@" -H "$T/hosts" --rsh "$T/shell {host}" -n $n -s $n --respawn 100000 --env STAND --env TALLY_SHARE \
		pworker --net inception --data "$T/train.rec" --val "$T/val.rec" --rand-crop --rand-mirror --batch 4 \
		--frequent 1 --epochs $((kills * 2 / 3 + 2)) --cut 3 --keep 1 --seed 7 --save "$T/$name" $async
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
steps() { cat "$T/cut.err" 2>"$T/errors" | grep -c "worker 1: Epoch.*Batch" || :; }
# victims WHAT: its processes that run now.
victims() {
	case $1 in
	worker\ ? | server\ ?) process "--${1% *}" "${1#* }" ;;
	"both workers") process --worker 0 && process --worker 1 ;;
	"worker and server") process --worker 0 && process --server 1 ;;
	"one agent") agent 1 ;;
	"both agents") agent 0 && agent 1 ;;
	"agent and worker") agent 0 && process --worker 0 ;;
	launcher) launcher ;;
	"launcher and agent") launcher && agent 0 ;;
	esac
}
# kill_all WHAT: false if a process of it is not there, as one that was killed before.
kill_all() {
	local p
	p=$(victims "$1")
	# shellcheck disable=SC2086
	[ -n "$p" ] && kill -9 $p
}
pause() { read -rt "$1" <> <(:) || :; }
# comes MOMENT WHAT: whether it has come.
comes() {
	case $1 in
	any) pause 0.0$((RANDOM % 90 + 10)) ;;
	start)	# of the successors
		local before now until=$((SECONDS + 10))
		before=$(victims "$2")
		kill_all "$2" || return
		until now=$(victims "$2"); [ "$(wc -w <<<"$now")" -eq "$(wc -w <<<"$before")" ] && [ "$now" != "$before" ]; do
			[ $SECONDS -lt $until ] || return
			pause 0.01
		done
		pause 0.$((RANDOM % 4))$((RANDOM % 10))
		;;
	cut) compgen -G "$T/cut.cut-*.tmp" ;;
	validation) tail -n 1 "$T/cut.err" | grep 'Time cost' ;;
	checkpoint) compgen -G "$T/cut-*.tmp" ;;
	esac >"$T/comes"
}

im2rec -q "$DATA/cifar-10-binary.tar.xz" --split test --part 0/$((150 / n)) -o "$T/train.rec"
im2rec -q "$DATA/cifar-10-binary.tar.xz" --split test --part 1/50 -o "$T/val.rec"
train whole || { echo "kills.sh: the undisturbed job failed" >&2; tail "$T/whole.err" >&2; exit 1; }
every=$(grep -c 'worker 1: Epoch.0. Batch' "$T/whole.err")
train cut & pid=$!
moments=(any start cut validation checkpoint)
whats=("worker 0" "worker 1" "server 0" "server 1" "both workers" "worker and server" "one agent" "both agents"
	"agent and worker" launcher "launcher and agent")
: >"$T/kills"
for ((k = 0, from = 0; k < kills;)); do
	moment=${moments[k % 5]} what=${whats[RANDOM % most]}
	until [ "$(steps)" -ge $((from + 2)) ] && comes $moment "$what"; do
		kill -0 $pid 2>/dev/null || break 2
		pause 0.005
	done
	from=$(steps)
	if kill_all "$what"; then
		echo "$EPOCHREALTIME kill $moment $what" >>"$T/kills"
		k=$((k + 1))
	fi 2>>"$T/errors"
done
wait $pid || { echo "kills.sh: the job failed" >&2; tail "$T/cut.err" >&2; exit 1; }

sort -n "$T/cut.err" "$T/kills" | awk -v every="$every" -v async="$async" '
	$2 == "kill" { kill_at[++k] = $1; what[k] = $0; sub(/.* kill /, "", what[k]); sub(/ /, "\t", what[k]); next }
	/worker .: Epoch.*Batch/ { epoch = step = $0; sub(/.*Epoch\[/, "", epoch); sub(/.*Batch \[/, "", step)
		step = epoch * every + step; rank = $3 + 0; last[rank] = step
		if (async) step += rank * every * 1000000
		if ($1 > done[step]) done[step] = $1
	}
	/goes on at step/ { rank = $3 + 0; again = last[rank] - $NF; if (again > repeated[k]) repeated[k] = again }
	function median(v, n,   i, j, x) {
		for (i = 2; i <= n; i++) { x = v[i]; for (j = i - 1; j > 0 && v[j] > x; j--) v[j + 1] = v[j]; v[j + 1] = x }
		return v[int((n + 1) / 2)]
	}
	END {
		# Between two epochs are a validation and a checkpoint.
		for (s in done) if ((s - 1) in done) { gap[s] = done[s] - done[s - 1]
			if (s % every == 1) border[++m] = gap[s]; else all[++n] = gap[s] }
		usual = median(all, n)
		usual_border = median(border, m)
		kill_at[k + 1] = 1e18
		for (i = 1; i <= k; i++) {
			for (s in gap) { over = gap[s] - (s % every == 1 ? usual_border : usual)
				if (done[s] > kill_at[i] && done[s - 1] < kill_at[i + 1] && over > stall[i]) stall[i] = over }
			printf "%s\t%.3f\t%d\n", what[i], stall[i], repeated[i]
		}
		printf "step\t\t%.3f\t%.3f\n", usual, usual_border
	}' >"$T/stalls"
printf 'killed\tkills\tmedian_stall_s\tlongest_stall_s\trepeated_steps_most\n'
# row COLUMN NAME
row() {
	grep -v ^step "$T/stalls" | awk -F '\t' -v at="$1" -v is="$2" '!at || $at == is' | sort -t "$(printf '\t')" -k3n |
		awk -F '\t' -v what="${2:-all}" '{ t[NR] = $3; if ($4 > r) r = $4 }
			END { if (NR > 0) printf "%s\t%d\t%.2f\t%.2f\t%d\n", what, NR, t[int((NR + 1) / 2)], t[NR], r }'
}
for what in "${whats[@]}"; do row 2 "$what"; done
for moment in "${moments[@]}"; do row 1 "$moment"; done
row 0 ""
grep ^step "$T/stalls" | awk -F '\t' '{ printf "# a step takes %.3f s, with a validation and a checkpoint %.3f s\n", $3, $4 }'
if [ -n "$async" ]; then
	awk -F '\t' '$3 == "worker" && $5 == "step" && n[$4, $7]++ { bad = 1 } END { exit bad }' "$T/cut.log" ||
		{ echo "kills.sh: a batch is in the log twice" >&2; exit 1; }
	echo "# no batch is in the log twice"
	exit
fi
for f in "$T"/whole-*.safetensors; do
	cmp "$f" "${f/whole/cut}" || { echo "kills.sh: the weights differ" >&2; exit 1; }
done
echo "# the weights have the bits of the undisturbed job"
