# away.t - detached jobs whose launcher sleeps, is killed or never comes back, and whose connections are cut.
# TIMES=20 cuts and kills as often.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
. "$TOP/tests/sshd.sh"
export XDG_STATE_HOME=$T/state
# Also of a test that was ended in the middle, of which launchers may be stopped, nothing is left.
away() {
	local job
	for job in "$XDG_STATE_HOME"/tally/jobs/*/; do
		[ ! -e "$job/record" ] || kill -9 $(cat "$job/lock") $(agents "$job/record")
	done 2>/dev/null
	living | xargs -r kill -9
	sshd_stop
	rm -rf "$T"
}
trap away EXIT

# job_id RECORD: its job's.  agents RECORD: the agents' processes.
job_id() { grep -aoEm 1 '[0-9a-f]{32}' "$1" | head -n 1; }
agents() { grep -als -e "--agent-keep.$(job_id "$1")-" /proc/[0-9]*/cmdline | cut -d/ -f3; }

# slay PID: kill -9, and it is gone; one that nobody waits for is too.
slay() {
	kill -9 "$1"
	while grep -qs '^State:.[^Z]' "/proc/$1/status"; do read -rt 0.02 <> <(:) || :; done
}

# Lines, then others when it is told, then the last, and worker 0's status is 3.
cat >"$T/work" <<'EOF'
#!/bin/bash
echo $$ >>"$STAND/pids"
lines() { seq -f "$DMLC_RANK %.0f $pad" "$1" $(($2 - 1)); }
trap 'echo "$DMLC_RANK stopped"; exit 0' TERM
pad= more=$1
[ "$more" -lt 10000 ] || printf -v pad '%90s' .
lines 0 100
echo begun
read -r x <"$STAND/more.$DMLC_RANK"
lines 100 "$more"
echo much >"$STAND/much.$DMLC_RANK"
read -r x <"$STAND/end.$DMLC_RANK"
lines "$more" $((more + 100))
exit $((DMLC_RANK == 0 ? 3 : 0))
EOF
chmod +x "$T/work"

# start ARGUMENT OPTION...: the job $job is detached, with $launcher, and its two workers have begun.
start() {
	local argument=$1
	shift
	rm -rf "$STAND" && mkdir "$STAND" && mkfifo "$STAND"/{more,end}.{0,1} || return
	job=$(dlaunch --detach -n 2 -s 0 --silence 60 --env STAND "${at[@]}" "$@" -- "$T/work" "$argument") || return
	dir=$XDG_STATE_HOME/tally/jobs/$job
	line_of "$dir/out" begun 2 && line_of "$STAND/pids" . 2 && read -r launcher <"$dir/lock" && cp "$dir/record" "$STAND/record"
}
# must NAME COMMAND...: as ok; without it the rest would wait in vain.
must() {
	ok "$@"
	[ "$tap_bad" -eq 0 ] || done_testing
}
attach() { timeout 60 dlaunch attach "$1"; }
# tell WHAT RANK: a worker goes on.
tell() { timeout 20 sh -c 'echo >"$1"' sh "$STAND/$1.$2"; }
alone() { tell more 0 && tell more 1 && line_of "$STAND/much.0" much 1 && line_of "$STAND/much.1" much 1; }
# Worker 1, and when its lines are there worker 0, whose status ends all.
finish() { tell end 1 && line_of "$dir/out" "^1 $1 " 1 && tell end 0; }
# whole N: each worker's N lines are there, once and in order.
whole() {
	local rank
	for rank in 0 1; do
		cmp <(seq 0 $(($1 - 1))) <(sed -n "s/^$rank \([0-9]*\) .*/\1/p" "$dir/out") || return
	done
}
# no_agent: nothing of the job is left soon, of an agent neither.  Their silence is a minute.
no_agent() {
	local until=$((SECONDS + 30)) id
	id=$(job_id "$STAND/record") && none_left 30 || return
	while grep "@tally/$id" /proc/net/unix; do
		[ $SECONDS -lt $until ] || return 1
		read -rt 0.1 <> <(:) || :
	done
}
field() { dlaunch status "$1" | sed 1d | cut -f"$2"; }

tests() {
	# Which takes its time, during that of the others.
	STAND=$T/lonely must "$1: a job" start 300 --silence 2
	local lonely=$job
	slay "$launcher"

	must "$1: another" start 300
	kill -STOP "$launcher"
	# shellcheck disable=SC2046
	kill -9 $(cat "/proc/$launcher/task/$launcher/children")
	ok "$1: its launcher sleeps, its connections are cut: it goes on" alone
	kill -CONT "$launcher"
	ok "... and the launcher calls the hosts again" line_of "$dir/err" "^dlaunch: host .*: is back$" "$hosts"
	like "$dir/err" "^dlaunch: waiting for host (one|localhost): went away" "... having said for whom it waits"
	ok "... and it comes to its end" finish 399
	status 3 "... has its status" attach "$job"
	ok "... and all that was printed, once and in order" whole 400
	ok "... and nothing is left" no_agent

	must "$1: another" start 300
	slay "$launcher"
	ok "... goes on when its launcher is killed" alone
	is "$(field "$job" 2,3)" "away	" "... which its status says"
	status 2 "... is not resumed" dlaunch --resume "$job"
	like "$T/err" "^dlaunch: --resume: job $job may go on at its hosts: attach to it, or stop it$" "... and so told"
	attach "$job" >"$T/attached" 2>"$T/attached.err" &
	attached=$!
	ok "... has another when somebody attaches" line_of "$T/attached.err" "^dlaunch: host .*: is back$" "$hosts"
	is "$(field "$job" 2)" runs "... and runs"
	slay "$(cat "$dir/lock")"
	ok "... and a third, for who has attached already" line_of "$T/attached.err" "^dlaunch: host .*: is back$" $((2 * hosts))
	ok "... and it comes to its end" finish 399
	wait $attached
	is $? 3 "... to the end, with its status"
	ok "... and all that was printed, once and in order" whole 400
	ok "... and nothing is left" no_agent

	must "$1: another" start 300
	slay "$launcher"
	status 0 "... whose launcher is killed is stopped all the same" dlaunch stop "$job"
	ok "... and nothing is left" no_agent
	is "$(field "$job" 2,3) $(grep -c stopped "$dir/out")" "ended	143 2" "... after an orderly end"

	STAND=$T/lonely ok "$1: that to which nobody came back has ended, and nothing is left" no_agent
	status 75 "... as who attaches later is told" attach "$lonely"
	like "$T/err" "^dlaunch: host (one|localhost): its agent is gone, and what it ran$" "... in a line"
	is "$(field "$lonely" 2,3)" "ended	75" "... and then known"
}

for ((n = 0; n < ${TIMES:-1}; n++)); do
	at=() hosts=1
	tests "on this machine"
	[ -n "$sshd" ] || break
	if [ ! -d "$T/ssh" ]; then
		sshd_setup
		ok "a first host" sshd_start one 127.0.0.1 0
		ok "a second host" sshd_start two 127.0.0.1 0
		printf 'one\ntwo\n' >"$T/hosts"
	fi
	at=(-H "$T/hosts" --rsh "ssh -F $T/ssh/config {host}") hosts=2
	tests "over ssh"
done

# What waits has a limit, at which the processes wait.
at=() hosts=1
must "a job that prints much" start 30000 --spool 1
kill -STOP "$launcher"
tell more 0
# Worker 0 waits in seq(1), within write(2).
full() {
	local worker seq=
	while read -r worker; do
		seq=$(cat "/proc/$worker/task/$worker/children")
		grep -qs pipe_write "/proc/${seq% }/wchan" && return
	done <"$STAND/pids"
	return 1
}
fills() {
	local until=$((SECONDS + 30))
	until full; do
		[ $SECONDS -lt $until ] || return 1
		read -rt 0.05 <> <(:) || :
	done
}
ok "... fills what is kept when nobody takes it" fills
ok "... and waits" test ! -e "$STAND/much.0"
# shellcheck disable=SC2046
kill -9 $(cat "/proc/$launcher/task/$launcher/children")
kill -CONT "$launcher"
tell more 1
ok "... goes on when it is taken" line_of "$STAND/much.0" much 1
like "$dir/err" "^dlaunch: host localhost: its processes waited [0-9.]+ s, as 1024 KiB that they had printed were not taken \(--spool\)$" \
	"... which is told"
ok "... to its end" finish 30099
status 3 "... with its status" attach "$job"
ok "... with all that was printed" whole 30100

# An agent that may open nothing lets nobody in, and ends for that no job.
cat >"$T/many" <<'EOF'
#!/bin/bash
for ((i = 3; i < 24; i++)); do eval "exec $i</dev/null"; done
shift
exec "$@"
EOF
chmod +x "$T/many"
echo here >"$T/one"
# turns PID: how often it has waited.
turns() { sed -n 's/^voluntary_ctxt_switches:[[:space:]]*//p' "/proc/$1/status"; }
# knocked AGENT: somebody stands before its door, and it has looked since.
knocked() {
	local until=$((SECONDS + 30)) id from
	id=$(job_id "$STAND/record")
	until [ "$(grep -c "@tally/$id" /proc/net/unix)" = 2 ]; do
		[ $SECONDS -lt $until ] && grep -q '^State:.[^Z]' "/proc/$1/status" || return 1
		read -rt 0.05 <> <(:) || :
	done
	from=$(turns "$1") && until [ $(($(turns "$1") - from)) -gt 3 ]; do
		grep -q '^State:.[^Z]' "/proc/$1/status" || return 1
		read -rt 0.05 <> <(:) || :
	done
}
at=(-H "$T/one" --rsh "$T/many {host}")
must "a job whose remote shell leaves its agent many descriptors" start 300
agent=$(parent "$(parent "$(head -n 1 "$STAND/pids")")")
slay "$launcher"
n=0 && while [ -e "/proc/$agent/fd/$n" ]; do n=$((n + 1)); done
prlimit --pid "$agent" --nofile=$n:
attach "$job" >"$T/attached" 2>"$T/attached.err" &
attached=$!
ok "... stays when it may open no more and somebody comes" knocked "$agent"
prlimit --pid "$agent" --nofile=1024:
ok "... lets in when it may" line_of "$T/attached.err" "^dlaunch: host here: is back$" 1
ok "... goes on" alone
ok "... and comes to its end" finish 399
wait $attached
is $? 3 "... with its status"
at=()

# An agent is killed while the launcher sleeps: that is known when it is called, not after a day; and files by process.
cat >"$T/again" <<'EOF'
echo $$ >>"$STAND/pids"
echo "attempt $DMLC_NUM_ATTEMPT"
[ "$DMLC_NUM_ATTEMPT" = 1 ] || exec sleep 1000
EOF
begin() {
	rm -rf "$STAND" && mkdir "$STAND" || return
	job=$(dlaunch --detach --restart 1 --silence 60 --output "$T/logs" --env STAND -n 1 -s 0 -- sh "$T/again") || return
	line_of "$STAND/pids" . 1 && line_of "$T/logs/worker-0.out" attempt 1
}
must "a job to be started again" begin
slay "$(parent "$(parent "$(cat "$STAND/pids")")")"
status 0 "... is, when its agent is killed" attach "$job"
like "$T/err" "^dlaunch: host localhost: its agent is gone, and what it ran$" "... and the loss told"
is "$(paste -sd, "$T/logs/worker-0.out")" "attempt 0,attempt 1" "... and printed into its file, both times"
done_testing
