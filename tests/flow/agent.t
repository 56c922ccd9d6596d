#!/usr/bin/env bash
# agent.t - a killed agent costs a job no step and no bit: another agent takes its processes over.  KILLS=100 kills as often.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
. "$TOP/tests/flow/data.sh"

KILLS=${KILLS:-2}
export OMP_NUM_THREADS=1 XDG_STATE_HOME=$T/state
away() {
	really_living | xargs -r kill -9
	[ ! -e "$T/launcher" ] || kill -9 "$(cat "$T/launcher")" 2>/dev/null
	rm -rf "$T"
}
trap away EXIT
cd "$T" || exit 1

have mnist || { skip "killed agents" "$WHY"; done_testing; }
# Stands for a remote shell to hosts that are all this machine.
printf '#!/bin/bash\nshift\nexec "$@"\n' >shell
chmod +x shell
printf '%s slots=2 addr=127.0.0.1\n' one two >hosts
# agents: those of the job's processes, each once.
agents() {
	really_living | while read -r p; do parent "$(parent "$p")"; done 2>/dev/null | sort -u |
		while read -r p; do [ "$p" -le 1 ] || [ "$(cat "/proc/$p/comm" 2>/dev/null)" != dlaunch ] || echo "$p"; done
}
steps=$((KILLS * 120))	# enough for all kills
# start NAME OPTION...: runs a job.
start() {
	local name=$1
	shift
	dlaunch -H hosts --rsh "$T/shell {host}" -n 2 -s 2 --respawn 1000 --env STAND --env TALLY_SHARE "$@" pworker --net lenet \
		--data "$MNIST_TEST" --scale 0.00390625 --lr 0.05 --batch 32 --frequent 20 --steps "$steps" --seed 7 \
		--save "$T/$name"
}
# kill_agents FILE PID: as often as $KILLS says, in the course of the job: one or both, also with a worker or a server.
kill_agents() {
	local also
	killed=0
	while [ $killed -lt "$KILLS" ] && line_of "$1" Speed $((4 * killed + ${3:-1})) "$2" >line 2>&1; do
		read -rt 0.0$((RANDOM % 90 + 10)) <> <(:) || :
		case $((RANDOM % 3)) in
		0) also= ;;
		1) also=$(real_process --worker $((RANDOM % 2))) ;;
		2) also=$(real_process --server $((RANDOM % 2))) ;;
		esac
		# shellcheck disable=SC2046
		kill -9 $(agents | shuf -n $((RANDOM % 2 + 1))) $also && killed=$((killed + 1))
	done
}
same_bits() { local f; for f in whole-*.safetensors; do cmp "$f" "${f/whole/$1}" || return 1; done; }
ends() { # STATUS
	wait "$pid"
	local got=$?
	[ $got -eq "$1" ] || { echo "exit status $got, want $1"; tail -n 40 err; return 1; }
}

start whole >out 2>err & pid=$!
ok "an undisturbed job ends well" ends 0

: >err
start cut >out 2>err & pid=$!
kill_agents err $pid
ok "a job whose agents are killed ends well" ends 0
ok "agents were killed $killed times" test $killed -eq "$KILLS"
like err '^dlaunch: waiting for host (one|two): went away: signal 9 \(Killed\)$' "the launcher reports a killed agent"
like err '^dlaunch: host (one|two): another agent has taken its processes over$' "the launcher reports its successor"
ok "all weights have the bits of the undisturbed job" same_bits cut
ok "nothing is left" really_none_left

# The launcher of a detached job is killed, and then agents.
job=$(start far --detach --silence 60 2>err)
dir=$XDG_STATE_HOME/tally/jobs/$job
line_of "$dir/err" Speed 2
read -r launcher _ <"$dir/lock"
# shellcheck disable=SC2046
kill -9 "$launcher" $(agents)
: >err
dlaunch attach "$job" >out 2>err & pid=$!
line_of err 'has taken its processes over' 2 "$pid"
echo "$(cut -d' ' -f1 "$dir/lock")" >launcher
is "$(grep -c 'has taken its processes over' err)" 2 "detached: two agents follow the killed ones"
KILLS=1 kill_agents err $pid 5
ok "detached: the job ends well" ends 0
ok "detached: all weights have the bits of the undisturbed job" same_bits far
ok "detached: nothing is left" really_none_left

# During the start: agents that are killed before all processes run.
: >err
start early >out 2>err & pid=$!
until a=$(agents) && [ -n "$a" ] || ! kill -0 $pid 2>/dev/null; do read -rt 0.01 <> <(:) || :; done
# shellcheck disable=SC2086
kill -9 $a
ok "early: a job whose agents are killed at its start ends well" ends 0
ok "early: all weights have the bits of the undisturbed job" same_bits early

# Without a successor in time, nothing is left.
printf '#!/bin/bash\ncase "$*" in *--agent-adopt*) exit 255 ;; esac\nshift\nexec "$@"\n' >shell
: >err
steps=100000 start lost --grace 2 >out 2>err & pid=$!
line_of err Speed 1 $pid
# shellcheck disable=SC2046
kill -9 $(agents | head -n 1)
ok "lost: a job whose host does not answer again ends" ends 75
like err '^dlaunch: host (one|two): went away: ' "lost: the host is named"
ok "lost: nothing is left" really_none_left 30
done_testing
