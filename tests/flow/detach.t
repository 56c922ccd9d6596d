# detach.t - jobs that have a name: detached from their terminal, looked at, attached to, stopped, resumed.
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

ok "a detached job" start
is "$job" 1 "... has a number"
is "$(living | wc -l)" 6 "... runs"
is "$(field 1 2,3,5)" "runs		$PWD" "... as its status says"
like <(field 1 6) "^dlaunch --detach -n 2 -s 2 .*/pworker --do wait$" "... and what it is"
ok "another" start --job night
is "$job" night "... has the name that it is given"
is "$(dlaunch status | cut -f1,2 | paste -sd,)" "job	state,1	runs,night	runs" "both are told"
status 2 "a name that is taken" dlaunch --detach --job night -s 0 -- true
like "$T/err" '^dlaunch: --job: job night runs$' "... is refused"
dlaunch attach night >"$T/attached" 2>"$T/attached.err" &
attached=$!
line_of "$T/attached" waits 2 >"$T/waits"
kill -INT $attached
kill $attached
wait $attached
is "$(field night 2)" runs "who attached and left did nothing to it"
status 0 "stop" dlaunch stop night
is "$(field night 2,3)" "ended	143" "... ends it"
ok "... and nothing is left of it" none_left
status 143 "attach to what has ended" dlaunch attach night
is "$(grep -c stopped "$T/out")" 2 "... prints what it printed"
like "$T/err" '^dlaunch: Terminated: the workers are asked to end' "... on both streams"
status 2 "stop of what has ended" dlaunch stop night
like "$T/err" '^dlaunch: job night does not run$' "... is refused"
status 0 "stop of the other" dlaunch stop 1

# Its terminal goes away.
cat >"$T/terminal" <<'END'
dlaunch --detach --job tty -n 1 -s 0 -- bash -c 'echo up; read -r x <>"$1"; echo "$x"' sh "$1" >"$2"
kill -HUP 0
END
mkfifo "$T/fifo"
setsid -w bash "$T/terminal" "$T/fifo" "$T/name" 2>"$T/err"
is "$(cat "$T/name" 2>"$T/err") $(field tty 2)" "tty runs" "a job survives the hangup of all that was started with it"
dlaunch attach tty >"$T/attached" &
attached=$!
line_of "$T/attached" up 1 >"$T/waits"
echo went on 1<>"$T/fifo"
wait $attached
is "$? $(paste -sd, "$T/attached")" "0 up,went on" "... and is attached to up to its end"

# The launcher of a job with a name that is not detached is killed; those of detached ones are in away.t.
rm -rf "$STAND" && mkdir "$STAND"
dlaunch --job front -n 1 -s 1 --server-command "$T/bin/pserver" --env STAND "$T/bin/pworker" --do wait >"$T/front" 2>"$T/err" &
front=$!
ok "a job with a name" line_of "$T/front" waits 1
kill -9 $front
ok "... whose launcher is killed leaves nothing" none_left
is "$(field front 2,3)" "lost	" "... is lost"
status 2 "... and is not attached to" dlaunch attach front

# Resumed: the command, its place and its words; what it printed stays.
mkdir "$T/place"
(cd "$T/place" && dlaunch --detach --job again -n 1 -s 0 -- \
	sh -c 'echo "$PWD $1"; [ -e ran ] || { touch ran; exit 4; }' sh "it's  \$a") >"$T/out"
status 4 "a job that fails" dlaunch attach again
is "$(dlaunch --resume again)" again "is resumed, detached as it was"
status 0 "... to a better end" dlaunch attach again
is "$(grep -v ^dlaunch "$T/out")" "$T/place it's  \$a
$T/place it's  \$a" "... with its words, where it was, behind what it printed"
is "$(sed 's/[0-9-]* [0-9:]*$/WHEN/' "$T/err" | grep -n '^dlaunch: job again is resumed, WHEN$' | wc -l)" 1 \
	"... and a line between the two runs"
status 0 "a job with a name that is not detached" dlaunch --job fore -s 0 -- echo x
is "$(cat "$T/out") $(field fore 2,3)" "x ended	0" "... prints as any other, and has a status"
status 0 "... is resumed so" dlaunch --resume fore
is "$(cat "$T/out")" x "... too"
status 2 "... but not attached to" dlaunch attach fore
ok "a job that runs" start --job busy
status 2 "... is not resumed" dlaunch --resume busy
like "$T/err" '^dlaunch: --resume: job busy runs$' "... and so told"
dlaunch stop busy
status 2 "a job that is not there" dlaunch --resume nothing
like "$T/err" "^dlaunch: --resume: there is no job 'nothing'$" "... is named"
status 2 "a name that is a path" dlaunch --job ../x -s 0 -- true
status 2 "--resume with a command" dlaunch --resume fore true
status 2 "pworker without checkpoints" sh -c 'dlaunch --job w -s 0 pworker --net none; dlaunch --resume w'
like "$T/err" '^dlaunch: --resume: goes on from a checkpoint: pworker needs --save$' "... cannot go on"
status 2 "hosts from the standard input" sh -c 'echo a | dlaunch --detach -H - true'
status 127 "a command that is called as we call things" dlaunch -n 1 -s 0 -- status
done_testing
