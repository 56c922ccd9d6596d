# away.t - detached jobs whose launcher sleeps, is killed or never comes back, and whose connections are cut.
# TIMES=20 cuts and kills as often.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
. "$TOP/tests/sshd.sh"
export XDG_STATE_HOME=$T/state
# Leaves nothing, even if the test was ended in the middle and launchers are stopped.
away() {
	local job
	for job in "$XDG_STATE_HOME"/tally/jobs/*/; do
		[ ! -e "$job/record" ] || kill -9 $(cut -d" " -f1 "$job/lock") $(agents "$job/record")
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

# Prints lines, then others on request, then the last; worker 0's status is 3.
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
	line_of "$dir/out" begun 2 && line_of "$STAND/pids" . 2 && read -r launcher _ <"$dir/lock" && cp "$dir/record" "$STAND/record"
}
# must NAME COMMAND...: as ok, but ends the test on failure, as the rest would wait in vain.
must() {
	ok "$@"
	[ "$tap_bad" -eq 0 ] || done_testing
}
attach() { timeout 60 dlaunch attach "$1"; }
# tell WHAT RANK: lets a worker go on.
tell() { timeout 20 sh -c 'echo >"$1"' sh "$STAND/$1.$2"; }
alone() { tell more 0 && tell more 1 && line_of "$STAND/much.0" much 1 && line_of "$STAND/much.1" much 1; }
# Lets worker 1 end, and after its lines worker 0, whose status ends the job.
finish() { tell end 1 && line_of "$dir/out" "^1 $1 " 1 && tell end 0; }
# whole N: each worker's N lines are there, once and in order.
whole() {
	local rank
	for rank in 0 1; do
		cmp <(seq 0 $(($1 - 1))) <(sed -n "s/^$rank \([0-9]*\) .*/\1/p" "$dir/out") || return
	done
}
# no_agent: waits until no process and no agent of the job is left.  Their silence is a minute.
no_agent() {
	local until=$((SECONDS + 30)) id
	id=$(job_id "$STAND/record") && none_left 30 || return
	while grep "@tally/$id" /proc/net/unix; do
		[ $SECONDS -lt $until ] || return 1
		read -rt 0.1 <> <(:) || :
	done
}
# A signal takes effect in a moment.
becomes_stopped() {
	local until=$((SECONDS + 30))
	until [ "$(field "$job" 2)" = stopped ]; do [ $SECONDS -lt $until ] || return; done
}
field() { dlaunch status "$1" | sed 1d | cut -f"$2"; }

tests() {
	# This job ends by itself while the others run.
	STAND=$T/lonely must "$1: a job with a short silence starts" start 300 --silence 6
	local lonely=$job
	slay "$launcher"

	must "$1: a job starts" start 300
	kill -STOP "$launcher"
	ok "$1: the status shows that the launcher is stopped" becomes_stopped
	for verb in attach wait; do
		dlaunch $verb "$job" >/dev/null 2>"$T/$verb" & follower=$!
		ok "$1: $verb names the launcher that is stopped" \
			line_of "$T/$verb" "^dlaunch: job $job: waiting for its launcher, process $launcher, which is stopped\$" 1 $follower
		kill $follower
	done
	# shellcheck disable=SC2046
	kill -9 $(cat "/proc/$launcher/task/$launcher/children")
	ok "$1: a job goes on while its launcher is stopped and its connections are cut" alone
	kill -CONT "$launcher"
	ok "$1: the launcher calls the hosts again" line_of "$dir/err" "^dlaunch: host .*: is back$" "$hosts"
	like "$dir/err" "^dlaunch: waiting for host (one|localhost): went away" "$1: the launcher reports for whom it waits"
	ok "$1: the job comes to its end" finish 399
	status 3 "$1: attach returns the job's status" attach "$job"
	ok "$1: all lines are there, once and in order" whole 400
	ok "$1: nothing of the job is left" no_agent

	must "$1: a job starts" start 300
	slay "$launcher"
	ok "$1: a job goes on when its launcher is killed" alone
	is "$(field "$job" 2,3)" "away	" "$1: status says that the launcher is away"
	status 2 "$1: --resume refuses the job" dlaunch --resume "$job"
	like "$T/err" "^dlaunch: --resume: job $job may still run on its hosts; attach to it or stop it$" \
		"$1: the error says what to do instead"
	: >"$T/attached.err"	# before line_of finds the lines of the last attach
	attach "$job" >"$T/attached" 2>"$T/attached.err" &
	attached=$!
	ok "$1: attach starts another launcher" line_of "$T/attached.err" "^dlaunch: host .*: is back$" "$hosts"
	is "$(field "$job" 2)" runs "$1: status says that the job runs again"
	slay "$(cut -d" " -f1 "$dir/lock")"
	ok "$1: a running attach starts a third launcher" line_of "$T/attached.err" "^dlaunch: host .*: is back$" $((2 * hosts))
	ok "$1: the job comes to its end under the third launcher" finish 399
	wait $attached
	is $? 3 "$1: attach returns the job's status after three launchers"
	ok "$1: all lines are there after three launchers, once and in order" whole 400
	ok "$1: nothing is left after three launchers" no_agent

	must "$1: a job starts" start 300
	slay "$launcher"
	status 0 "$1: stop ends a job whose launcher was killed" dlaunch stop "$job"
	ok "$1: stop leaves nothing" no_agent
	is "$(field "$job" 2,3) $(grep -c stopped "$dir/out")" "ended	143 2" "$1: stop lets the workers end orderly"

	STAND=$T/lonely ok "$1: a job to which no launcher came back ends, and nothing is left" no_agent
	status 75 "$1: attach returns 75 for a job whose agents have ended" attach "$lonely"
	like "$T/err" "^dlaunch: host (one|localhost): its agent and processes have ended$" \
		"$1: the error says that the agent has ended"
	is "$(field "$lonely" 2,3)" "ended	75" "$1: status says that the job has ended"
}

for ((n = 0; n < ${TIMES:-1}; n++)); do
	at=() hosts=1
	tests "on this machine"
	[ -n "$sshd" ] || break
	if [ ! -d "$T/ssh" ]; then
		sshd_setup
		ok "a first host runs sshd" sshd_start one 127.0.0.1 0
		ok "a second host runs sshd" sshd_start two 127.0.0.1 0
		printf 'one\ntwo\n' >"$T/hosts"
	fi
	at=(-H "$T/hosts" --rsh "ssh -F $T/ssh/config {host}") hosts=2
	tests "over ssh"
done

# Stored output has a limit, at which the processes wait.
at=() hosts=1
must "a job that prints much starts" start 30000 --spool 1
kill -STOP "$launcher"
tell more 0
# turns PID: the number of times that it has waited.
turns() { sed -n 's/^voluntary_ctxt_switches:[[:space:]]*//p' "/proc/$1/status"; }
agent=$(parent "$(parent "$(head -n 1 "$STAND/pids")")")
# The bytes that worker 0 has written by seq(1), if that waits within write(2).
waiting() {
	local worker seq=
	while read -r worker; do
		seq=$(cat "/proc/$worker/task/$worker/children")
		grep -qs pipe_write "/proc/${seq% }/wchan" && sed -n 's/^wchar: //p' "/proc/${seq% }/io" && return
	done <"$STAND/pids"
	return 1
}
# A pipe is full for moments, too.  An agent with room reads it each time that it polls, so one that has polled and read
# nothing has none.
fills() {
	local until=$((SECONDS + 30)) bytes from=
	until [ -n "$from" ] && [ $(($(turns "$agent") - from)) -gt 3 ] && [ "$(waiting)" = "$bytes" ]; do
		[ $SECONDS -lt $until ] || return 1
		[ -n "$from" ] && [ "$(waiting)" = "$bytes" ] || { bytes=$(waiting) && from=$(turns "$agent") || from=; }
		read -rt 0.05 <> <(:) || :
	done
}
ok "output fills the spool while the launcher is stopped" fills
ok "a process waits while the spool is full" test ! -e "$STAND/much.0"
# shellcheck disable=SC2046
kill -9 $(cat "/proc/$launcher/task/$launcher/children")
kill -CONT "$launcher"
tell more 1
ok "the process goes on when its output is fetched" line_of "$STAND/much.0" much 1
like "$dir/err" "^dlaunch: host localhost: its processes waited [0-9.]+ s, as 1024 KiB of output had not been fetched \(see --spool\)$" \
	"the launcher reports how long processes waited"
ok "the job with a full spool comes to its end" finish 30099
status 3 "attach returns the status of the job with a full spool" attach "$job"
ok "no line of the job with a full spool is lost" whole 30100

# An agent that can open no descriptor accepts no connection, and its job goes on.
cat >"$T/many" <<'EOF'
#!/bin/bash
for ((i = 3; i < 24; i++)); do eval "exec $i</dev/null"; done
shift
exec "$@"
EOF
chmod +x "$T/many"
echo here >"$T/one"
# knocked AGENT: waits until a connection is pending and the agent has polled since.
knocked() {
	local until=$((SECONDS + 30)) id from
	id=$(job_id "$STAND/record")
	until [ "$(grep -c "@tally/$id-0\$" /proc/net/unix)" = 2 ]; do
		[ $SECONDS -lt $until ] && grep -q '^State:.[^Z]' "/proc/$1/status" || return 1
		read -rt 0.05 <> <(:) || :
	done
	from=$(turns "$1") && until [ $(($(turns "$1") - from)) -gt 3 ]; do
		grep -q '^State:.[^Z]' "/proc/$1/status" || return 1
		read -rt 0.05 <> <(:) || :
	done
}
at=(-H "$T/one" --rsh "$T/many {host}")
must "a job whose remote shell leaves its agent many descriptors starts" start 300
agent=$(parent "$(parent "$(head -n 1 "$STAND/pids")")")
slay "$launcher"
n=0 && while [ -e "/proc/$agent/fd/$n" ]; do n=$((n + 1)); done
prlimit --pid "$agent" --nofile=$n:
: >"$T/attached.err"
attach "$job" >"$T/attached" 2>"$T/attached.err" &
attached=$!
ok "an agent without free descriptors survives a connection" knocked "$agent"
prlimit --pid "$agent" --nofile=1024:
ok "the agent accepts the connection once it has descriptors" line_of "$T/attached.err" "^dlaunch: host here: is back$" 1
ok "the job goes on after that" alone
ok "the job comes to its end after that" finish 399
wait $attached
is $? 3 "attach returns the job's status after that"
at=()

# An agent that was killed with its shims is noticed when it is called, not after the silence.  Output goes to files a process.
ends_with_shims() {
	local agent shims
	agent=$(parent "$(parent "$(cat "$STAND/pids")")")
	read -ra shims <"/proc/$agent/task/$agent/children"	# no line end
	kill -9 "${shims[@]}" && slay "$agent"
}
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
must "a job with --restart starts" begin
ends_with_shims
status 0 "a job whose agent and shims were killed is started again" attach "$job"
like "$T/err" "^dlaunch: host localhost: its agent and processes have ended$" "the launcher reports that the agent has ended"
is "$(paste -sd, "$T/logs/worker-0.out")" "attempt 0,attempt 1" "both attempts print into the worker's file"

# A launcher that is killed in a further attempt: the one that takes over reads the hosts of this attempt.
cat >>"$T/again" <<'EOF'
[ ! -p "$STAND/end" ] || read -r x <"$STAND/end"
EOF
begin_again() {
	begin && mkfifo "$STAND/end" && ends_with_shims || return
	line_of "$T/logs/worker-0.out" "attempt 1" 1 && read -r launcher _ <"$XDG_STATE_HOME/tally/jobs/$job/lock"
}
must "a job is in its second attempt" begin_again
slay "$launcher"
echo >"$XDG_STATE_HOME/tally/jobs/$job/hosts"	# those of the first are of no use
echo end >"$STAND/end" &
status 0 "attach takes over the second attempt" attach "$job"
# Its launcher is killed, and started again in another environment, when the job's folder has another name.
mkdir "$T/here"
job=$(cd "$T/here" && AWAY=1 dlaunch --detach --job moved -n 1 -s 0 --env AWAY --env STAND -- \
	sh -c 'echo $$ >"$STAND/moved"; exec sleep 1000')
read -r launcher _ <"$XDG_STATE_HOME/tally/jobs/moved/lock"
slay "$launcher"
mv "$T/here" "$T/there"
status 0 "stop ends a job whose folder and environment have gone" dlaunch stop moved
ok "the process of the job has ended" test ! -e "/proc/$(cat "$STAND/moved")"
done_testing
