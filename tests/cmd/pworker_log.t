#!/usr/bin/env bash
# pworker_log.t - the head of the log, --log, and what pworker says after a signal.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1 TERM=dumb
pty="perl $TOP/tests/cmd/pty.pl 200 24"

mkdir c
perl -e 'srand 1; for $i (0..59) { print chr($i % 10), join "", map { chr(int($i % 10 * 25 + rand 6)) } 1..3072 }' >c/data_batch_1.bin
im2rec -q c/data_batch_1.bin -o "a b.rec" && cp "a b.rec" train.rec || exit 1
train="pworker --net mlp --shape 1x28x28 --data train.rec --batch 16"

status 0 "pworker trains" pworker --net mlp --widths 8,8 --data "a b.rec" --batch 20 --epochs 1 --seed 7
head -n 1 out >head
for want in 'seed=7 ' 'batch=20 ' 'lr=0\.02 ' 'init=msra ' 'data=a_b\.rec ' 'net_options=widths=8,8 '; do
	like head "^# tally .* $want" "the head of the log has $want"
done
like head "command=pworker --net mlp --widths 8,8 --data 'a b\.rec' --batch 20 --epochs 1 --seed 7\$" \
	"the head of the log has the command line"
sed 's/.*command=//' head >again.sh
status 0 "a shell runs the command line of the head again" sh again.sh

status 0 "--log names a file" $train --epochs 1 --log log.tsv
is "$(cat out)" "" "standard output stays empty"
is "$(awk -F'\t' '$5 == "step"' log.tsv | wc -l)" 4 "the file has the rows"
like err '^Epoch\[0\] Train-accuracy=' "--log leaves the lines for people"
status 0 "--log with --save" $train --epochs 1 --save w --log log.tsv
is "$(grep -c '^# tally' log.tsv)" 1 "a new run writes the file anew"
status 0 "--log with --resume" $train --epochs 2 --save w --resume w-0001.safetensors --log log.tsv
is "$(grep -c '^# tally' log.tsv)" 2 "a run that resumes appends"
status 1 "--log in a folder that does not exist fails" $train --epochs 1 --log nowhere/log.tsv
is "$(cat err)" "pworker: nowhere/log.tsv: create: there is no folder nowhere" "the error names the folder"
status 1 "a run whose --log cannot be written ends" $train --epochs 100000 --save full --log /dev/full
is "$(grep pworker: err)" "pworker: --log: write: No space left on device" "the error says why"
ok "the state of that run is saved" test -s "$(echo full-0000*.safetensors)"
status 0 "--log of several workers" dlaunch -n 2 -s 1 $train --epochs 1 --log two.tsv
is "$(echo two.tsv.*)" "two.tsv.0 two.tsv.1" "each has a file of its own"
for epochs in 1 2; do
	status 0 "--log with --resume-last of several workers" \
		dlaunch -n 2 -s 1 $train --epochs $epochs --save r --resume-last --log last.tsv
done
is "$(grep -c '^# tally' last.tsv.0 last.tsv.1 | paste -sd' ')" "last.tsv.0:2 last.tsv.1:2" "a job that resumes appends to both files"
status 2 "--log - is refused" $train --epochs 1 --log -

# stop COMMAND: ends it after its first steps.
stop() {
	: >rows
	$pty sh -c "echo \$\$ >pid; exec $* --log rows" >said &
	until grep -q '	step	' rows; do kill -0 $! || return; done
	kill "$(cat pid)"
	wait $!
}
stop $train --epochs 100000 --save s
saved=$(ls -t s-*.safetensors | head -n 1)
is "$(tail -n 1 said | tr -d '\r')" "pworker: stopped; $saved is saved: to go on, give the same options and --resume $saved" \
	"after SIGTERM pworker says what is saved and how to go on"
status 0 "these options go on" $train --epochs 100000 --save s --resume "$saved" --steps 1
rm -f pid
stop $train --epochs 100000
is "$(tail -n 1 said | tr -d '\r')" "pworker: stopped; nothing is saved without --save" "without --save pworker says that nothing is saved"
# The rate of an epoch that is resumed near its end counts only what this run has computed.
resumed="pworker --net lenet --data train.rec --batch 4 --lr 0.01"
n=$(im2rec --list train.rec | wc -l)
steps=$(((n + 3) / 4))
$resumed --epochs 1 --steps $((steps - 1)) --save part >log.tsv 2>err
status 0 "an epoch is resumed at its last step" $resumed --epochs 1 --resume "$(echo part-0000-*.safetensors)"
cp out log.tsv
ok "the rate of a resumed epoch is not that of all samples" awk -F'\t' -v steps=$steps '$5 == "step" { step = $11 }
	$5 == "epoch" { found = $11 < step * steps / 4 } END { exit !found }' log.tsv

# A signal while a pipe is empty.
mkfifo empty first
exec 9<>empty
pworker --net mlp --shape 1x28x28 --data empty --batch 16 >first 2>err 9>&- &
p=$!
while read -r line && [[ $line != *start* ]]; do :; done <first
kill -TERM $p
wait $p
is "$?" 143 "a signal ends a worker that waits for its first records"
exec 9>&-
$pty sh -c 'pworker --net mlp --shape 1x28x28 --data - 2>err; echo $? >status' >/dev/null
is "$(cat status) $(cat err)" "2 pworker: standard input is a terminal; pipe records into it, or name a file of them" \
	"records are not read from a terminal"
done_testing
