# detach.t - named jobs: --detach, status, attach, stop and --resume.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
export XDG_STATE_HOME=$T/state
trap 'living | xargs -r kill -9; rm -rf "$T"' EXIT

# A job in the background whose workers wait; $job is its name.
start() {
	rm -rf "$STAND" && mkdir "$STAND"
	job=$(dlaunch --detach "$@" -n 2 -s 2 --server-command "$T/bin/pserver" --env STAND "$T/bin/pworker" --do wait 2>"$T/err") &&
		line_of "$XDG_STATE_HOME/tally/jobs/$job/out" waits 2
}
field() { dlaunch status "$1" | sed 1d | cut -f"$2"; }

ok "a detached job starts" start
is "$job" 1 "a detached job without a name has a number"
is "$(living | wc -l)" 6 "a detached job has all its processes"
is "$(field 1 2,3,7)" "runs		$PWD" "status says that the job runs, and where"
like <(field 1 8) "^dlaunch --detach -n 2 -s 2 .*/pworker --do wait$" "status prints the job's command line"
ok "a second detached job starts" start --job night
is "$job" night "--job names the job"
is "$(dlaunch status | cut -f1,2 | paste -sd,)" "job	state,1	runs,night	runs" "status lists both jobs"
status 2 "--job refuses the name of a running job" dlaunch --detach --job night -s 0 -- true
like "$T/err" '^dlaunch: --job: job night is running$' "the error says that the job is running"
dlaunch attach night >"$T/attached" 2>"$T/attached.err" &
attached=$!
line_of "$T/attached" waits 2 >"$T/waits"
kill -INT $attached
kill $attached
wait $attached
is "$(field night 2)" runs "a job goes on after attach was ended"
status 0 "stop exits with 0" dlaunch stop night
is "$(field night 2,3)" "ended	143" "stop ends the job"
ok "stop leaves nothing of the job" none_left
status 143 "attach returns the status of a job that has ended" dlaunch attach night
is "$(grep -c stopped "$T/out")" 2 "attach prints the output of a job that has ended"
like "$T/err" '^dlaunch: Terminated: stopping the workers' "attach prints the errors of a job that has ended"
status 2 "stop refuses a job that has ended" dlaunch stop night
like "$T/err" '^dlaunch: job night is not running$' "the error says that the job is not running"
status 0 "stop ends the other job" dlaunch stop 1

# Its terminal goes away.
cat >"$T/terminal" <<'END'
dlaunch --detach --job tty -n 1 -s 0 -- bash -c 'echo up; read -r x <>"$1"; echo "$x"' sh "$1" >"$2"
kill -HUP 0
END
mkfifo "$T/fifo"
setsid -w bash "$T/terminal" "$T/fifo" "$T/name" 2>"$T/err"
is "$(cat "$T/name" 2>"$T/err") $(field tty 2)" "tty runs" "a job survives the hangup of its terminal"
dlaunch attach tty >"$T/attached" &
attached=$!
line_of "$T/attached" up 1 >"$T/waits"
echo went on 1<>"$T/fifo"
wait $attached
is "$? $(paste -sd, "$T/attached")" "0 up,went on" "attach follows a job to its end"

# The launcher of a job with a name that is not detached is killed; those of detached ones are in away.t.
rm -rf "$STAND" && mkdir "$STAND"
dlaunch --job front -n 1 -s 1 --server-command "$T/bin/pserver" --env STAND "$T/bin/pworker" --do wait >"$T/front" 2>"$T/err" &
front=$!
ok "a named job runs" line_of "$T/front" waits 1
kill -9 $front
ok "a killed launcher that is not detached leaves nothing" none_left
is "$(field front 2,3)" "lost	" "status says that the job is lost"
status 2 "attach refuses a job that was not detached" dlaunch attach front

# A start that fails, or takes long.
status 127 "--detach returns the status of a job that does not start" dlaunch --detach --job none -n 2 -s 0 -- ./nosuch
is "$(cat "$T/out")" "" "a job that does not start prints no name"
like "$T/err" '^worker [01]: ./nosuch: No such file or directory$' "--detach prints the processes' errors"
like "$T/err" '^dlaunch: job none did not start$' "--detach reports that the job did not start"
status 1 "--detach returns the status of workers that find no data" \
	dlaunch --detach --job nodata -n 2 -s 1 pworker --net mlp --data nosuch.rec
like "$T/err" '^worker [01]: pworker: nosuch.rec: open: No such file' "--detach prints what the workers lack"
is "$(dlaunch status | grep -c '^nodata	')" 0 "nothing is left of the job"
status 2 "a job that did not start is gone" dlaunch status none
status 3 "--detach returns the status of another command that fails at once" dlaunch --detach --job fails -s 0 -- sh -c 'exit 3'
is "$(cat "$T/out") $(tail -n 1 "$T/err")" " dlaunch: job fails did not start" "the name of such a job is not printed"
status 0 "--detach accepts another command that ends well at once" dlaunch --detach --job ends -s 0 -- true
is "$(cat "$T/out")" ends "the name of such a job is printed"
status 75 "--detach waits for servers that do not listen" dlaunch --detach --timeout 2 --server-command 'sh -c "exec sleep 1000"' \
	"$T/bin/pworker" --do hello
like "$T/err" '^dlaunch: waited [0-9]+ s for server 0 on localhost to listen' "--detach reports the server that does not listen"
rm -rf "$STAND" && mkdir "$STAND" && mkfifo "$STAND/go"
printf '#!/bin/sh\nread -r x <"$STAND/go"\nexec "%s" "$@"\n' "$T/bin/pserver" >"$T/bin/late" && chmod +x "$T/bin/late"
dlaunch --detach --job late -n 1 -s 1 --server-command "$T/bin/late" --env STAND "$T/bin/pworker" --do hello >"$T/name" &
detached=$!
exec {go}>"$STAND/go" # returns once the server waits to read
is "$(cat "$T/name")" "" "--detach prints no name while a server starts"
echo >&$go
exec {go}>&-
wait $detached
is "$? $(cat "$T/name")" "0 late" "--detach prints the name once all processes have started"
ok "all processes have started by then" line_of "$STAND/pids" . 2
rm -rf "$STAND" && mkdir "$STAND" && mkfifo "$STAND/go"
dlaunch --detach --job silent -n 2 -s 1 --server-command "$T/bin/pserver" --env STAND "$T/bin/pworker" --do late 3 >"$T/name" 2>"$T/err" &
detached=$!
exec {go}>"$STAND/go"
ok "a worker of a job is at work" line_of "$XDG_STATE_HOME/tally/jobs/silent/out" 'worker 0 waits' 1
echo >&$go
exec {go}>&-
wait $detached
is "$? $(cat "$T/name")" "3 " "--detach waits for the other, and returns the status with which it fails"
like "$T/err" '^dlaunch: job silent did not start$' "the message says that the job did not start"
mkfifo "$STAND/never"
status 143 "SIGTERM ends a job that --detach starts" sh -c '
	dlaunch --detach --job never -n 1 -s 1 --server-command "sh -c \"echo up >\$STAND/never; exec sleep 1000\"" --env STAND \
		"$1" --do hello & read -r x <"$STAND/never"; kill $!; wait $!' sh "$T/bin/pworker"

# wait, logs, list and rm.
status 0 "wait returns the status of a job" dlaunch wait late
is "$(cat "$T/out" "$T/err")" "" "wait prints nothing"
ok "a job to look at starts" start --job seen
is "$(dlaunch logs seen 2>"$T/err" | grep -c waits)" 2 "logs prints the output of a running job, and ends"
is "$(dlaunch list)" "$(dlaunch status)" "list prints all jobs"
perl "$TOP/tests/cmd/pty.pl" 80 24 dlaunch list >"$T/seen"
is "$(tr -d '\r' <"$T/seen" |
	awk '{ if (length > 80 || /\t/) print; n[index($0, NR > 1 ? " 2" : " since") > 0]++ } END { print n[1] - NR }')" 0 \
	"on a terminal list has columns that fit it"
like "$T/seen" '^seen +runs ' "list names the job and its state on a terminal"
status 2 "rm refuses a running job" dlaunch rm seen
like "$T/err" '^dlaunch: job seen is running$' "the error says that the job to remove is running"
# As if another host that shares the home had started it: the process must not get a signal.
lock=$XDG_STATE_HOME/tally/jobs/seen/lock
cp "$lock" "$T/lock"
sleep 1000 & stranger=$!
echo "$stranger far.example 0-0-0-0/pid:[1]" >"$lock"
status 2 "stop refuses a job of another host" dlaunch stop seen
is "$(cat "$T/err")" "dlaunch: job seen: its launcher is process $stranger on host far.example; stop it there" \
	"the error names the host and the process"
ok "no process of this host is signalled" kill "$stranger"
is "$(field seen 6)" far.example "status prints the launcher's host"
cat "$T/lock" >"$lock"
# In another name space of process ids a process has the launcher's id.  A container may have the same host name.
read -r launcher _ <"$lock"
if unshare -pf --mount-proc true 2>"$T/why" && [ "$(unshare -pf --mount-proc sh -c \
	"echo $((launcher - 1)) >/proc/sys/kernel/ns_last_pid && sh -c 'echo \$\$'" 2>>"$T/why")" = "$launcher" ]; then
	# shellcheck disable=SC2016
	status 2 "stop refuses a job of another container, and signals no process with its id" unshare -pf --mount-proc sh -c '
		echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid && { sleep 1000 & }
		timeout 20 dlaunch stop seen
		got=$?
		kill "$1" 2>/dev/null && exit $got' sh "$launcher"
	is "$(cat "$T/err")" "dlaunch: job seen: its launcher is process $launcher in another container of host $(hostname); \
stop it there" "the error says that it is another container"
	ok "that job runs on" test "$(field seen 2)" = runs
else
	skip "stop from another container" "$(tail -n 1 "$T/why")"
fi
dlaunch stop seen
status 143 "wait returns the status of a stopped job" dlaunch wait seen
status 2 "rm reports a missing job" dlaunch rm nothing seen
is "$(cat "$T/err")" "dlaunch: there is no job 'nothing'; dlaunch list shows the jobs" "the error names the job that is missing"
mkdir -p "$XDG_STATE_HOME/tally/jobs/stuck/folder" # no job has a folder
status 2 "rm exits with the worst status of several jobs" dlaunch rm nothing stuck
rm -r "$XDG_STATE_HOME/tally/jobs/stuck"
# Jobs that are removed while list reads them: before it opens the directory, and after a part of its files has gone.
jobs=$XDG_STATE_HOME/tally/jobs
rows=$(dlaunch list)
ln -s removed "$jobs/going1"
mkdir "$jobs/going2" "$jobs/going3" "$jobs/going4"
touch "$jobs/going3/lock" "$jobs/going4/lock"
printf 'true\0' >"$jobs/going4/command"
status 0 "list goes on where jobs are removed" dlaunch list
is "$(cat "$T/out" "$T/err")" "$rows" "list leaves these jobs out without a word"
for n in 1 2 3 4; do
	status 2 "status reports job going$n that was named" dlaunch status "going$n"
done
touch "$jobs/going3/command" "$jobs/going3/dir"
status 1 "list goes on after a job whose command is empty" dlaunch list
is "$(cat "$T/out" "$T/err")" "$rows
dlaunch: job going3: command is empty" "list names that job"
rm -r "$jobs"/going*
status 2 "rm removes the other job" dlaunch status seen
status 2 "--job refuses the name of an ended job" dlaunch --job late -s 0 -- true
is "$(cat "$T/err")" "dlaunch: --job: job late exists; choose another name, or replace the job by --force" \
	"the error says how to replace the job"
status 0 "--force replaces an ended job" dlaunch --job late --force -s 0 -- echo new
status 2 "a replaced job has no output of the job before" dlaunch logs late
status 2 "--force refuses a running job" sh -c 'dlaunch --detach --job busy1 -s 0 -- sleep 1000; dlaunch --job busy1 --force -s 0 -- true'
dlaunch stop busy1
status 2 "--force without --job is refused" dlaunch --force -s 0 -- true

# --resume keeps the command, its directory and what it printed.
mkdir "$T/place"
(cd "$T/place" && dlaunch --detach --job again -n 1 -s 0 -- \
	sh -c 'echo "$PWD $1"; [ -e ran ] || { touch ran; exit 4; }' sh "it's  \$a") >"$T/out"
status 4 "attach returns the status of a failed job" dlaunch attach again
is "$(dlaunch --resume again)" again "--resume detaches a detached job again"
status 0 "attach returns the status of the resumed job" dlaunch attach again
is "$(grep -v ^dlaunch "$T/out")" "$T/place it's  \$a
$T/place it's  \$a" "a resumed job has its words and directory, and appends its output"
is "$(sed 's/[0-9-]* [0-9:]*$/WHEN/' "$T/err" | grep -n '^dlaunch: job again is resumed, WHEN$' | wc -l)" 1 \
	"a line separates the output of the two runs"
status 0 "a named job runs in the foreground" dlaunch --job fore -s 0 -- echo x
is "$(cat "$T/out") $(field fore 2,3)" "x ended	0" "a named job prints to the terminal, and has a status"
status 0 "--resume runs a named job again" dlaunch --resume fore
is "$(cat "$T/out")" x "a resumed named job prints to the terminal"
status 2 "attach refuses an ended job that was not detached" dlaunch attach fore
ok "a job to be busy starts" start --job busy
status 2 "--resume refuses a running job" dlaunch --resume busy
like "$T/err" '^dlaunch: --resume: job busy is running$' "the error says that the job to resume is running"
dlaunch stop busy
status 2 "--resume refuses a missing job" dlaunch --resume nothing
like "$T/err" "^dlaunch: --resume: there is no job 'nothing'; dlaunch list shows the jobs$" "the error names the missing job"
status 2 "--job refuses a path" dlaunch --job ../x -s 0 -- true
status 2 "--resume refuses a command" dlaunch --resume fore true
status 2 "--resume refuses pworker without --save" sh -c 'dlaunch --job w -s 0 pworker --net none; dlaunch --resume w'
like "$T/err" '^dlaunch: --resume: pworker needs --save, as it resumes from a checkpoint$' "the error asks for --save"
is "$(field w 2,3)" "ended	2" "a job that --resume refuses keeps its status"

# --sync.
status 1 "--sync refuses a folder that does not exist" dlaunch --job typo --sync "$T/nosuch" -s 0 -- true
is "$(cat "$T/err")" "dlaunch: --sync: $T/nosuch: No such file or directory" "the error names the folder"
status 2 "the job was not made" dlaunch status typo
rm -rf "$STAND" && mkdir "$STAND" "$T/rsync" && mkfifo "$STAND/copies" "$STAND/go"
printf '#!/bin/sh\necho copies >"$STAND/copies"\nread -r x <"$STAND/go"\n' >"$T/rsync/rsync" && chmod +x "$T/rsync/rsync"
PATH=$T/rsync:$PATH dlaunch --job copied --sync "$T/rsync:$T/to" -s 0 -- echo ran >"$T/out" 2>"$T/err" &
copied=$!
read -r x <"$STAND/copies"
kill -USR1 $copied
echo >"$STAND/go"
wait $copied
is "$? $(cat "$T/out" "$T/err")" "0 ran" "a request to a job does not end its --sync"
status 2 "--detach refuses hosts from the standard input" sh -c 'echo a | dlaunch --detach -H - true'
status 127 "a command named status runs after --" dlaunch -n 1 -s 0 -- status
done_testing
