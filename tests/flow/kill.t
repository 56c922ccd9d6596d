# kill.t - whatever ends a job, nothing of it is left, and soon.  TIMES=20 kills as often.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
trap 'living | xargs -r kill -9; rm -rf "$T"' EXIT

# start WORKERS OPTION... -- WHAT: a job in the background, its workers at work; $pid is dlaunch, $agent its agent.
start() {
	local workers=$1 server=$T/bin/pserver
	shift
	local options=()
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	rm -rf "$STAND" && mkdir "$STAND"
	: >"$T/out"
	# A shell's background has SIGINT ignored, and nohup SIGHUP; a terminal's foreground has neither.
	env --default-signal=INT,HUP dlaunch -n "$workers" -s 2 --server-command "$server" --env STAND "${options[@]}" \
		"$T/bin/pworker" --do "$@" >"$T/out" 2>"$T/err" &
	pid=$!
	line_of "$T/out" waits "$workers" && line_of "$STAND/pids" . $((2 * workers + 2)) || return
	read -r agent _ <"/proc/$pid/task/$pid/children"
	[ -n "$agent" ]
}
# ends STATUS: dlaunch ends, and so.
ends() {
	wait "$pid"
	local got=$?
	[ $got -eq "$1" ] || { echo "exit status $got, want $1"; cat "$T/err"; return 1; }
}

for ((i = 0; i < ${TIMES:-1}; i++)); do
	ok "a job runs" start 2 -- wait
	is "$(living | wc -l)" 6 "the job has six processes"
	kill -9 "$pid"
	ok "kill -9 of dlaunch leaves nothing" none_left
	start 2 -- ignores && kill -9 "$pid"
	ok "kill -9 of dlaunch leaves nothing that ignores SIGTERM" none_left

	start 2 -- wait && kill -9 "$agent"
	ok "kill -9 of the agent: another one takes its processes over" \
		line_of "$T/err" '^dlaunch: host localhost: another agent has taken its processes over$' 1
	like "$T/err" '^dlaunch: waiting for host localhost: went away: signal 9 \(Killed\)$' "the loss is reported"
	is "$(living | wc -l)" 6 "all processes live"
	ok "SIGTERM ends the job under its second agent" kill -TERM "$pid"
	ok "the job ends with its status" ends 143
	is "$(grep stopped "$T/out" | sort | paste -sd,)" "worker 0 stopped,worker 1 stopped" \
		"the second agent passes the signal and the output on"
	ok "a job with two agents leaves nothing" none_left

	if command -v prlimit >/dev/null; then
		start 1 -- wait
		read -r shim _ <"/proc/$agent/task/$agent/children"
		prlimit --pid "$shim" --nofile=3:1024 && kill -9 "$agent"
		line_of "$T/err" '^dlaunch: waiting for host localhost' 1
		read -rt 0.5 <> <(:) || :
		ticks() { cut -d' ' -f14,15 "/proc/$shim/stat" | tr ' ' +; }
		from=$(ticks)
		read -rt 1 <> <(:) || :
		ok "a shim without descriptors for an agent waits for them idly" test "$(($(ticks) - (from)))" -lt 25
		prlimit --pid "$shim" --nofile=1024:1024
		ok "a shim is taken over when it has descriptors again" \
			line_of "$T/err" '^dlaunch: host localhost: another agent has taken its processes over$' 1
		kill -TERM "$pid"
		ok "the job ends with its status" ends 143
	else
		skip "a shim without descriptors" "no prlimit"
	fi

	start 2 -- wait
	read -ra shims <"/proc/$agent/task/$agent/children"	# no line end
	ok "a job's shims are killed with its agent" kill -9 "$agent" "${shims[@]}"
	ok "a host without shims is lost" ends 75
	living | xargs -r kill -9	# what the commands had started
	like "$T/err" '^dlaunch: host localhost: went away' "the lost host is named"
	like "$T/err" 'lost with its host' "the table says which processes were lost"

	: >"$T/groups"
	dlaunch -s 0 -- sh -c 'timeout 60 sleep 59.5 & echo $! >'"$T/groups"'; wait' 2>"$T/err" & pid=$!
	ok "a command makes a process group of its own" line_of "$T/groups" . 1
	read -r group <"$T/groups"
	kill -9 "$pid"
	ok "a process group of the command is killed with dlaunch" timeout $SOON tail -s 0.1 --pid="$group" -f /dev/null

	for who in launcher shim command nobody; do
		: >"$T/away"
		dlaunch -s 0 -- sh -c 'setsid sh -c "setsid sleep 300 & echo \$! \$PPID; wait" >'"$T/away"' &
			while [ ! -s '"$T/away"' ]; do :; done; test '$who' = nobody || wait' 2>"$T/err" & pid=$!
		ok "a command begins a session in a session" line_of "$T/away" . 1
		read -r away command <"$T/away"
		read -r agent _ <"/proc/$pid/task/$pid/children" || :
		case $who in
		launcher) kill -9 "$pid" ;;
		shim) kill -9 "$(parent "$command")" ;;
		command) kill -9 "$command" ;;
		esac 2>"$T/kill"
		ok "a session in a session is killed when the $who ends" timeout $SOON tail -s 0.1 --pid="$away" -f /dev/null
		wait "$pid" 2>/dev/null
		kill -9 "$away" 2>/dev/null
	done

	start 2 -- wait && { kill -9 "$agent"; kill -9 "$pid"; }
	ok "kill -9 of dlaunch and agent leaves nothing" none_left 30

	: >"$T/own"
	dlaunch -s 0 -- sh -c 'echo $$ >'"$T/own"'; exec sleep 300' 2>"$T/err" & pid=$!
	ok "a command without children runs" line_of "$T/own" . 1
	read -r own <"$T/own"
	shim=$(parent "$own")
	kill -9 "$shim" "$(parent "$shim")"
	ok "a command is killed when its shim and the agent are killed at once" \
		timeout $SOON tail -s 0.1 --pid="$own" -f /dev/null
	wait "$pid" 2>/dev/null
done

start 2 --silence 1 -- wait && kill -STOP "$pid"
ok "a silent launcher is given up by the agent" none_left
kill -CONT "$pid"
ok "a launcher that was given up ends" ends 75
like "$T/err" '^dlaunch: host localhost: went away: .*its agent has heard nothing from dlaunch for 2 s$' "the error is the cause"

start 2 --silence 1 -- wait && kill -STOP "$agent"
ok "a silent agent is a lost host" ends 75
like "$T/err" '^dlaunch: host localhost: silent for [0-9]+ s' "the silent host is named"
kill -CONT "$agent"
ok "an agent that continues ends its processes" none_left

# As on a machine that is suspended or overloaded.
start 2 --silence 1 -- wait && kill -STOP "$pid" "$agent" && read -rt 3 <> <(:)
kill -CONT "$pid" && read -rt 0.3 <> <(:)
kill -CONT "$agent"
ok "a job that stood still on both sides gets SIGTERM" kill -TERM "$pid"
ok "a job that stood still on both sides loses no host" ends 143
ok "a job that stood still leaves nothing" none_left

for s in INT:130 TERM:143 HUP:129; do
	start 2 -- wait && kill "-${s%:*}" "$pid"
	ok "SIG${s%:*}: exit status ${s#*:}" ends "${s#*:}"
	is "$(grep stopped "$T/out" | sort | paste -sd,)" "worker 0 stopped,worker 1 stopped" \
		"SIG${s%:*} lets the workers end orderly"
	ok "SIG${s%:*} leaves nothing" none_left
done

: >"$T/out"
dlaunch -s 0 -- sh -c "timeout 60 bash -c 'trap \"echo orderly; exit\" TERM; echo waits; while :; do read -t 0.2 <> <(:); done'; true" \
	>"$T/out" 2>"$T/err" & pid=$!
line_of "$T/out" waits 1 && kill -TERM "$pid"
ok "SIGTERM ends a shell that starts another process group" ends 143
ok "SIGTERM reaches a process group of the command" grep -q orderly "$T/out"

start 2 --grace 1000 -- dies && kill -TERM "$pid"
ok "servers end at once after workers that SIGTERM killed" none_left
[ "$tap_got" -eq 0 ] || kill -9 "$pid"	# else it would wait for minutes
ok "a job whose workers SIGTERM killed ends with its status" ends 143
start 2 --grace 1 -- ignores && kill -TERM "$pid"
ok "workers that do not end are killed after the grace" ends 143
ok "workers killed after the grace leave nothing" none_left
start 2 --grace 1000 -- ignores && kill -INT "$pid" && line_of "$T/err" 'signal again' 1 && kill -INT "$pid"
ok "a second signal kills workers at once" ends 130
ok "a second signal leaves nothing" none_left
start 1 --grace 1000 -- ignores && kill -TSTP "$pid" && kill -INT "$pid" && line_of "$T/err" 'signal again' 1 && kill -INT "$pid"
ok "SIGTSTP does not stop dlaunch" ends 130

start 2 --grace 1 -- ignores && kill -9 "$(head -n 1 "$STAND/pids")"
ok "a killed server ends the job with its status" ends 137
ok "a killed server leaves nothing" none_left

: >"$T/out"
nohup dlaunch -n 1 -s 1 --server-command "$T/bin/pserver" --env STAND "$T/bin/pworker" --do wait >"$T/out" 2>"$T/err" &
pid=$!
line_of "$T/out" waits 1 && kill -HUP "$pid" && kill -TERM "$pid"
ok "nohup's SIGHUP stays ignored" ends 143
ok "a job under nohup leaves nothing" none_left

# The real tools.
[ -d "$DATA/mnist" ] || { skip "the real tools" "no $DATA/mnist"; done_testing; }
im2rec "$DATA/mnist" --split test >"$T/test.rec"
real() {
	: >"$T/err"
	env --default-signal=INT,HUP dlaunch "$@" -n 2 -s 2 --env STAND --env TALLY_SHARE pworker --net mlp --data "$T/test.rec" \
		--batch 16 --frequent 5 --epochs 1000 --save "$T/m" >"$T/out" 2>"$T/err" &
	pid=$!
	line_of "$T/err" 'worker 1: Epoch' 1 || return
	[ "$(really_living | wc -l)" = 4 ] || { ps -o pid,ppid,stat,args -p "$(really_living | paste -sd,)"; return 1; }
}
ok "two workers and two servers train" real
kill -9 "$pid"
ok "kill -9 of dlaunch leaves no pworker and no pserver" really_none_left
ok "two workers and two servers train again" real
kill -INT "$pid"
ok "SIGINT ends them with status 130" ends 130
ok "SIGINT lets pworker write a checkpoint" test -n "$(find "$T" -name 'm-*.safetensors')"
ok "SIGINT leaves no pworker and no pserver" really_none_left
is "$(grep -cE '^server .* exit status 0$' "$T/err")" 2 "servers end by themselves after their workers"
rm -f "$T"/m-*
: >"$T/err"
dlaunch -s 0 --env STAND --env TALLY_SHARE -- sh -c "unset DMLC_ROLE
	timeout 1h pworker --net mlp --data '$T/test.rec' --batch 16 --frequent 5 \
	--epochs 1000 --save '$T/m'; true" >"$T/out" 2>"$T/err" & pid=$!
ok "pworker within timeout(1) within a shell trains" line_of "$T/err" 'Epoch' 1
kill -TERM "$pid"
ok "pworker within timeout(1) ends by SIGTERM" ends 143
ok "pworker within timeout(1) writes a checkpoint" test -n "$(find "$T" -name 'm-*.safetensors')"
ok "pworker within timeout(1) leaves no process" really_none_left

ok "two workers and two servers train without --respawn" real --respawn 0
kill -9 "$(real_process --worker 1)" || kill "$pid"
ok "a killed process is the job's status" ends 137
ok "a killed pworker leaves no process" really_none_left
done_testing
