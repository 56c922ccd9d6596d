# scale.t - workers join a running asynchronous job and leave it, also if processes are killed meanwhile.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
export XDG_STATE_HOME=$T/state OMP_NUM_THREADS=1
trap 'really_living | xargs -r kill -9; rm -rf "$T"' EXIT
cd "$T" || exit 1

bright_records 640 || exit 1
train="pworker --net mlp --shape 3x28x28 --data train.rec --lr 0.01 --scale 0.00390625 --batch 4 --async"
job=$XDG_STATE_HOME/tally/jobs
field() { dlaunch status "$1" | sed 1d | cut -f"$2"; }
# start NAME OPTION... -- ARGUMENT...: a detached job.
start() {
	local name=$1 options=()
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	dlaunch --detach --job "$name" --env STAND "${options[@]}" $train "$@" >"$T/out" 2>"$T/err"
}
# joins NAME RANK, leaves NAME RANK: waits until the worker does.
joins() { line_of "$job/$1/err" "^worker $2: pworker: joins the job: " "${3:-1}"; }
leaves() { line_of "$job/$1/err" "^dlaunch: worker $2 on .* has left$" "${3:-1}"; }
# The numbers of batches that the workers have computed, and how often.
batches() { awk -F'\t' '$3 == "worker" && $5 == "step" { n[$7]++ } END { for (k in n) print k, n[k] }' "$job/$1/out"; }
twice() { batches "$1" | awk '$2 > 1 { n++ } END { print n + 0 }'; }
# kill_worker RANK
kill_worker() {
	local p
	for p in $(really_living); do
		! tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline" | grep -q -e "--worker $1/" || kill -9 "$p"
	done
}
servers() { really_living | while read -r p; do [ "$(cat "/proc/$p/comm" 2>/dev/null)" != pserver ] || echo "$p"; done; }

status 2 "a changing number of workers needs --async" dlaunch -n 1..3 -s 1 pworker --net mlp --data train.rec
like err '^dlaunch: -n: a number of workers that changes needs pworker --async' "the error says why"
status 2 "a changing number of workers needs pworker" dlaunch -n 1..3 -s 1 -- true
status 2 "a changing number of workers needs servers" dlaunch -n 1..3 -s 0 $train
status 2 "-n 3..2 is refused" dlaunch -n 3..2 -s 1 $train
status 2 "pworker refuses a changing number of workers that wait for each other" \
	pworker --net mlp --data train.rec --worker 0/1..3 --servers 127.0.0.1:1 --plain
status 2 "scale refuses a job that is not there" dlaunch scale none 2
status 2 "scale needs a number" dlaunch scale none

ok "a job of 2 to 4 workers starts" start grow -n 2..4 -s 2 -- --epochs 1000 --log grow.log
is "$(field grow 4)" 2 "status shows the number of workers"
ok "worker 0 prints its speed, although every 50th batch is worker 1's" \
	line_of "$job/grow/err" '^worker 0: Epoch\[[0-9]*\] Batch ' 1
status 0 "scale adds workers" dlaunch scale grow 4
is "$(field grow 4)" 4 "status shows the new number"
ok "worker 2 joins" joins grow 2
ok "worker 3 joins" joins grow 3
ok "worker 0 reports it" line_of "$job/grow/err" '^worker 0: pworker: 4 workers from batch' 1
ok "worker 1 notes it in its log" line_of grow.log.1 '^# 4 workers from batch' 1
status 2 "scale refuses more workers than -n allows" dlaunch scale grow 5
like err '^dlaunch: job grow: 5 workers: the job was started with -n 2\.\.4$' "the error says how many there may be"
status 2 "scale refuses fewer workers than -n allows" dlaunch scale grow 1
# A launcher that is killed while scale waits for its answer holds its lock until then.
launcher=$(cut -d" " -f1 "$job/grow/lock")
kill -STOP "$launcher"
dlaunch scale grow 3 2>err & scale=$!
ok "scale waits for a launcher that is stopped" line_of err "^dlaunch: job grow: waiting for its launcher, process $launcher\$" 1 $scale
kill -9 "$launcher"
wait $scale
is $? 0 "scale asks another launcher if the first one dies meanwhile"
ok "worker 3 leaves for it" leaves grow 3
status 0 "scale adds it again" dlaunch scale grow 4
ok "worker 3 joins again" joins grow 3 2
# Another launcher takes the job over with the number of workers.
ok "the launcher of the job is killed" kill -9 "$(cut -d" " -f1 "$job/grow/lock")"
status 0 "scale takes workers away, with another launcher if it was killed" dlaunch scale grow 2
ok "worker 3 leaves, although the launcher may have been killed before it noted that it was back" leaves grow 3 2
ok "worker 2 leaves" leaves grow 2
ok "worker 0 reports that there are 2" line_of "$job/grow/err" '^worker 0: pworker: 2 workers from batch' 1
status 0 "a worker that has left joins again" dlaunch scale grow 3
ok "worker 2 joins again" joins grow 2 2
status 0 "stop ends the job" dlaunch stop grow
is "$(field grow 2,3,4)" "ended	143	3" "the job ends as one of 3 workers"
is "$(cat grow.log* | awk -F'\t' '$5 == "step" { n[$7]++ } END { for (k in n) m += n[k] > 1; print m + 0 }')" 0 \
	"no batch was computed twice"
ok "nothing of the job is left" really_none_left

# Each batch of the epochs is computed once, although workers join and servers are killed.
ok "a job of 1 to 3 workers starts" start once -n 1..3 -s 2 -- --epochs 30
status 0 "scale adds two workers" dlaunch scale once 3
# shellcheck disable=SC2046
kill -9 $(servers)
ok "worker 2 joins although all servers were killed" joins once 2
status 0 "the job ends well" dlaunch wait once
is "$(batches once | wc -l) $(twice once)" "4800 0" "each batch of 30 epochs was computed once"
like "$job/once/err" '^server 0: dlaunch: signal 9 ended this server; it was started again' "a server was started again"
status 2 "scale refuses a job that has ended" dlaunch scale once 2

# A worker that is killed is started again once, and then the job is, with as many workers.
ok "a job with --restart starts" start again -n 1..3 -s 1 --respawn 1 --restart 1 -- --epochs 1000 --save again --cut 50
status 0 "scale adds a worker" dlaunch scale again 2
ok "worker 1 joins" joins again 1
until ls again[.-]* >out 2>err; do read -rt 0.1 <> <(:) || :; done
kill_worker 1
ok "the worker is started again" line_of "$job/again/err" '^worker 1: pworker: was started again; goes on at step [0-9]*$' 1
kill_worker 1
ok "the job is started again with two workers" line_of "$job/again/err" '^server 0: pserver: holds .* for 2 workers, at most 3$' 1
like "$job/again/err" '^dlaunch: restart 1 of 1$' "the line says that the job was restarted"
ok "the restarted job goes on from a cut or a checkpoint" line_of "$job/again/err" '^worker 0: pworker: resumes from again[.-]' 1
is "$(field again 4)" 2 "status shows two workers"
status 0 "stop ends it" dlaunch stop again

# Worker 2 fails before it joins: as one whose data are missing, or whose command is.
mkdir broken
cat >broken/pworker <<'END'
#!/bin/sh
case " $* " in *" --worker 2/"*) [ -e "$STAND/../works" ] || set -- "$@" --val "$STAND/../missing.rec" ;; esac
exec pworker "$@"
END
chmod +x broken/pworker
train="broken/$train"
ok "a job of 1 to 4 workers starts" start fails -n 1..4 -s 1 --respawn 1 -- --epochs 100000
train=${train#broken/}
status 0 "scale adds three workers, one of which fails" dlaunch scale fails 4
unjoined='^worker 2: dlaunch: this worker could not join the job; it was'
ok "a worker that cannot join is started again" line_of "$job/fails/err" "$unjoined started again$" 1
ok "as often as --respawn says" line_of "$job/fails/err" "$unjoined not started again: " 1
ok "the job goes on without it" line_of "$job/fails/err" \
	'^dlaunch: worker 2 on .* did not join (exit status 69); the job goes on without it$' 1
ok "the worker above it leaves, so that no batch is left out" leaves fails 3
is "$(field fails 4)" 2 "status shows the workers that are left"
: >works
status 0 "scale tries again" dlaunch scale fails 3
ok "the worker joins" joins fails 2
rm broken/pworker
status 0 "scale adds a worker whose command is missing" dlaunch scale fails 4
ok "the job goes on without that one, too" line_of "$job/fails/err" \
	'^dlaunch: worker 3 on .* did not join (exit status 127); the job goes on without it$' 1
is "$(field fails 4)" 3 "status shows the workers without it"
status 0 "stop ends the job that went on" dlaunch stop fails
is "$(field fails 3)" 143 "the job has the status of its signal"

# Hosts with slots for three processes, that are all this machine.
printf '#!/bin/sh\nshift\nexec "$@"\n' >shell
chmod +x shell
printf 'a slots=2 addr=127.0.0.1\nb addr=127.0.0.1\n' >hosts
ok "a job on two hosts starts" start slots -H hosts --rsh "$T/shell {host}" -n 1..4 -s 1 -- --epochs 1000
status 2 "scale refuses more processes than there are slots" dlaunch scale slots 3
like err '^dlaunch: job slots: 3 workers and 1 servers: the hosts have 3 slots$' "the error says how many there are"
status 0 "scale fills the slots" dlaunch scale slots 2
ok "the worker joins on its host" joins slots 1
status 0 "stop ends the job on two hosts" dlaunch stop slots

train=${train% --async}
ok "a synchronous job starts" start sync -n 2 -s 1 -- --epochs 1000
status 2 "scale refuses a synchronous job" dlaunch scale sync 3
like err '^dlaunch: job sync: the number of its workers is fixed, as they wait for each other' "the error says why"
status 0 "stop ends the synchronous job" dlaunch stop sync
ok "nothing of these jobs is left" really_none_left
done_testing
