#!/usr/bin/env bash
# restart.t - a job that lost a process is started again from its newest checkpoint, and ends in the same bytes.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1

# 60 pictures of 32x32 in CIFAR's format: the class is how bright the picture is.
mkdir c bin
perl -e 'srand 1; for $i (0..59) { print chr($i % 10), map { chr(int($i % 10 * 25 + rand 6)) } 1..3072 }' \
	>c/data_batch_1.bin
im2rec c/data_batch_1.bin -o train.rec 2>im2rec.err
# A pworker that dies, the first time, after some steps of which worker 0 has a checkpoint, or none.  Only then it knows
# of changes of settings.
cat >bin/pworker <<'EOF'
#!/bin/bash
[ "$DMLC_NUM_ATTEMPT" = 0 ] || exec "$BUILD/pworker" "$@"
TALLY_SET=$FIRST "$BUILD/pworker" "$@" $DIES
case "$*" in *"--worker 0/2"*) kill -9 $$ ;; esac
exec sleep 1000
EOF
chmod +x bin/pworker
args="--net mlp --shape 3x28x28 --data train.rec --lr 0.05 --scale 0.00390625 --batch 8 --epochs 3"

status 0 "a job without faults exits with 0" dlaunch -n 2 -s 2 pworker $args --save whole
status 0 "a job whose workers die is restarted" \
	env DIES="--steps 6" dlaunch --restart 1 --respawn 0 --env DIES --env BUILD -n 2 -s 2 bin/pworker $args --save w
like err '^dlaunch: worker 0 on localhost: signal 9' "a worker was killed"
like err '^worker 0: pworker: resumes from w-0001-000002\.safetensors$' "worker 0 reports the checkpoint from which it resumes"
ok "the restarted job ends in the same bytes" cmp whole-0003.safetensors w-0003.safetensors
status 0 "a job whose workers die before the first checkpoint is restarted" \
	env DIES="--net none" dlaunch --restart 1 --respawn 0 --env DIES --env BUILD \
	-n 2 -s 2 bin/pworker $args --save v
like err '^worker 0: pworker: resumes from the beginning: there is no checkpoint yet$' \
	"worker 0 reports that there is no checkpoint yet"
ok "the job restarted from the beginning ends in the same bytes" cmp whole-0003.safetensors v-0003.safetensors
status 0 "a job whose settings change exits with 0" \
	dlaunch --env TALLY_SET="2:lr=0.01 5:lr=0.02,wd=0.01 9:lr=0.005" -n 2 -s 2 pworker $args --save set
status 0 "a job is restarted by a launcher that has not heard of its settings" env DIES="--steps 6" \
	FIRST="2:lr=0.01 5:lr=0.02,wd=0.01 9:lr=0.005" dlaunch --restart 1 --respawn 0 --env DIES --env FIRST --env BUILD \
	-n 2 -s 2 bin/pworker $args --save s
is "$(grep -c '^# set 9:lr=0.005$' out)" 4 "both workers of both attempts have the settings that were still to come"
ok "the restarted job has the bytes of a job with the same settings" cmp set-0003.safetensors s-0003.safetensors
status 137 "without --restart a killed worker is the job's status" \
	env DIES="--steps 6" dlaunch --respawn 0 --env DIES --env BUILD -n 2 -s 2 bin/pworker $args --save u
status 2 "--resume-last without --save is refused" pworker $args --resume-last
like err '^pworker: --resume-last: needs --save$' "the error asks for --save"
status 0 "--resume-last without a checkpoint is valid after --resume" \
	pworker $args --steps 13 --resume whole-0003.safetensors --resume-last --save t
like err '^pworker: resumes from whole-0003\.safetensors$' "--resume is used if --resume-last finds no checkpoint"
done_testing
