#!/usr/bin/env bash
# scale_killed.t - dlaunch scale beside killed agents and launchers: a worker that has left an elastic job returns.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
export XDG_STATE_HOME=$T/state
dir=$XDG_STATE_HOME/tally/jobs/job
trap 'dlaunch stop job 2>/dev/null; living | xargs -r kill -9; rm -rf "$T"' EXIT

# A server that only says where it listens, and workers that leave when they are asked to: worker 2 not before a word
# comes if there is a fifo for it.
cat >"$T/bin/pserver" <<'END'
#!/bin/bash
echo $$ >>"$STAND/pids"
while [ "$1" != --ready-fd ]; do shift; done
echo 127.0.0.1:1 >&"$2"
sleep 1000 & wait
END
cat >"$T/bin/pworker" <<'END'
#!/bin/bash
echo $$ >>"$STAND/pids"
while [ "$1" != --worker ]; do shift; done
rank=${2%/*}
leave() {
	echo "worker $rank is asked to leave"
	[ ! -p "$STAND/leave" ] || read -r x <"$STAND/leave"
	exit 0
}
trap leave USR1
trap 'exit 0' TERM
echo "worker $rank joins"
sleep 1000 & wait; wait
END

joins() { line_of "$dir/out" "^worker $1 joins$" "$2"; }
asked() { line_of "$dir/out" "^worker $1 is asked to leave$" "$2"; }
leaves() { line_of "$dir/err" "^dlaunch: worker $1 on .* has left$" "$2"; }
adopted() { line_of "$dir/err" "another agent has taken its processes over$" "$1"; }
launcher() { cut -d" " -f1 "$dir/lock"; }
# Shims have its command line too, and so has the relay to it, a child of the launcher.
agent() {
	local id p
	id=$(grep -aoEm 1 '[0-9a-f]{32}' "$dir/record" | head -n 1)
	grep -als -e "--agent-[a-z]*.$id-" /proc/[0-9]*/cmdline | cut -d/ -f3 | while read -r p; do
		[ "$(cat "/proc/$p/comm")" != dlaunch ] || [ "$(parent "$p")" = "$(launcher)" ] || echo "$p"
	done
}
# scale_as_agent_dies N: the launcher learns that N workers are wanted when it learns that its agent was killed.
scale_as_agent_dies() {
	local l pending
	l=$(launcher)
	kill -STOP "$l"
	kill -9 "$(agent)"
	dlaunch scale job "$1" & scale=$!
	# SIGUSR1, which the launcher blocks, is pending.
	while pending=$(sed -n 's/^ShdPnd:[[:space:]]*/0x/p' "/proc/$l/status") && [ $((pending & 0x200)) -eq 0 ]; do
		read -rt 0.02 <> <(:) || :
	done
	kill -CONT "$l"
	wait $scale
}

ok "a job of 2 to 4 workers starts" dlaunch --detach --job job -n 2..4 -s 1 --server-command "$T/bin/pserver" --grace 1 \
	--silence 60 --env STAND "$T/bin/pworker" --async
status 0 "scale adds a worker" dlaunch scale job 3
ok "worker 2 joins" joins 2 1

status 0 "scale asks worker 2 to leave" dlaunch scale job 2
ok "worker 2 leaves" leaves 2 1
status 0 "the agent is killed, and scale adds a worker" scale_as_agent_dies 3
ok "another agent takes the processes over" adopted 1
ok "a worker that had left before its agent was killed returns" joins 2 2

mkfifo "$STAND/leave"
status 0 "scale asks worker 2 to leave again" dlaunch scale job 2
ok "worker 2 is asked to" asked 2 2
status 0 "the agent is killed before worker 2 has left, and scale adds a worker" scale_as_agent_dies 3
ok "another agent takes the processes over, also worker 2" adopted 2
echo 1<>"$STAND/leave"
rm "$STAND/leave"
ok "a worker that leaves after its agent was killed returns" joins 2 3

a=$(agent)
kill -STOP "$a"
status 0 "scale takes a worker away while the agent is stopped" dlaunch scale job 2
status 0 "the agent is killed before it has asked worker 2, and scale adds that" scale_as_agent_dies 3
ok "another agent takes the processes over, and worker 2 goes on" adopted 3
status 0 "scale takes worker 2 away" dlaunch scale job 2
ok "worker 2 leaves then" leaves 2 3
is "$(grep -c "^worker 2 is asked" "$dir/out")" 3 "worker 2 was asked once each time that it left"

# shellcheck disable=SC2046
kill -9 $(launcher) $(agent)
status 0 "agent and launcher are killed, and scale adds a worker" dlaunch scale job 3
ok "a worker that had left before agent and launcher were killed returns" joins 2 4

kill -STOP "$(agent)"
status 0 "scale adds a worker of which the agent does not hear" dlaunch scale job 4
# shellcheck disable=SC2046
kill -9 $(launcher) $(agent)
status 0 "another launcher takes the job over" dlaunch scale job 4
ok "a worker that was to join when agent and launcher were killed joins" joins 3 1
is "$(grep -c '^dlaunch: worker' "$dir/err")" 3 "no worker is said to have left twice, or to have ended"
is "$(dlaunch status job | sed 1d | cut -f4)" 4 "the job has 4 workers"
status 0 "stop ends the job" dlaunch stop job
ok "nothing is left" none_left
done_testing
