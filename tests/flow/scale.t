# scale.t - workers join a running asynchronous job and leave it, also after kills and restarts.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
export XDG_STATE_HOME=$T/state OMP_NUM_THREADS=1
trap 'really_living | xargs -r kill -9; rm -rf "$T"' EXIT
cd "$T" || exit 1

# 640 pictures of 32x32 in CIFAR's format: the class is how bright the picture is.
mkdir c
perl -e 'srand 1; for $i (0..639) { print chr($i % 10), map { chr(int($i % 10 * 25 + rand 6)) } 1..3072 }' >c/data_batch_1.bin
im2rec c/data_batch_1.bin -o train.rec 2>im2rec.err
train() { echo pworker --net mlp --shape 3x28x28 --data train.rec --lr 0.01 --scale 0.00390625 --batch 4 --async "$@"; }
job=$XDG_STATE_HOME/tally/jobs
field() { dlaunch status "$1" | sed 1d | cut -f"$2"; }
# The logs of all workers, and how often a step is in them.
rows() { awk -F'\t' '$1 == "step"' "$1".log*; }

status 2 "a changing number of workers needs --async" dlaunch -n 1..3 -s 1 pworker --net mlp --data train.rec
like err '^dlaunch: -n: a number of workers that changes needs pworker --async' "the error says why"
status 2 "a changing number of workers needs pworker" dlaunch -n 1..3 -s 1 -- true
status 2 "a changing number of workers needs servers" dlaunch -n 1..3 -s 0 $(train)
status 2 "-n 3..2 is refused" dlaunch -n 3..2 -s 1 $(train)
status 2 "pworker refuses a changing number of workers that wait for each other" \
	pworker --net mlp --data train.rec --worker 0/1..3 --servers 127.0.0.1:1 --plain
status 2 "scale refuses a job that is not there" dlaunch scale none 2
status 2 "scale needs a number" dlaunch scale none

# --frequent 1 ... each row of a step has its number.
status 0 "a job of 2 to 4 workers starts" dlaunch --detach --job grow -n 2..4 -s 2 $(train --epochs 1000 --log grow.log --save grow)
is "$(field grow 4)" 2 "status shows the number of workers"
status 0 "scale adds workers" dlaunch scale grow 4
is "$(field grow 4)" 4 "status shows the new number"
ok "worker 2 joins" line_of "$job/grow/err" '^worker 2: pworker: joins the job: [34] workers' 1
ok "worker 3 joins" line_of "$job/grow/err" '^worker 3: pworker: joins the job: 4 workers' 1
ok "worker 0 reports it" line_of "$job/grow/err" '^worker 0: pworker: 4 workers from batch' 1
ok "worker 1 notes it in its log" line_of grow.log.1 '^# 4 workers from batch' 1
status 2 "scale refuses more workers than -n allows" dlaunch scale grow 5
like err '^dlaunch: job grow: 5 workers: the job was started with -n 2\.\.4$' "the error says how many there may be"
status 2 "scale refuses fewer workers than -n allows" dlaunch scale grow 1
status 0 "scale takes workers away" dlaunch scale grow 2
ok "worker 3 leaves" line_of "$job/grow/err" '^dlaunch: worker 3 on localhost has left$' 1
ok "worker 3 says so" line_of "$job/grow/err" '^worker 3: pworker: leaves the job$' 1
ok "worker 0 reports that there are 2" line_of "$job/grow/err" '^worker 0: pworker: 2 workers from batch' 1
status 0 "stop ends the job" dlaunch stop grow
is "$(field grow 2,3,4)" "ended	143	2" "the job ends as one of 2 workers"
is "$(really_living | wc -l)" 0 "nothing is left of it"
done_testing
