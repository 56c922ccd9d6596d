#!/usr/bin/env bash
# progress.t - progress of long work: drawn on a terminal and erased at the end, plain lines elsewhere.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1 TERM=xterm
unset NO_COLOR
screen="perl $TOP/tests/cmd/screen.pl"
pty="perl $TOP/tests/cmd/pty.pl"

mkdir c
perl -e 'srand 1; for $i (0..599) { print chr($i % 10), join "", map { chr(int($i % 10 * 25 + rand 6)) } 1..3072 }' >c/data_batch_1.bin
status 0 "the images are packed" im2rec c/data_batch_1.bin -o train.rec
train="pworker --net mlp --shape 3x28x28 --data train.rec --batch 16 --lr 0.01 --scale 0.00390625 --epochs 2"

# on COMMAND [COLUMNS]: runs a command on a terminal of 90 columns; its standard output goes to rows.
on() { $pty "${2:-90}" 24 sh -c "$1 >rows" >bytes; }
# The same, until a line that matches is drawn; then SIGTERM ends the command.
mkfifo quiet
until_drawn() { # PATTERN COMMAND COLUMNS
	: >bytes
	$pty "$3" 24 sh -c "echo \$\$ >pid; exec $2 >rows" >bytes &
	until grep -Eq "$1" bytes; do kill -0 $! || break; read -rt 0.05 <>quiet; done
	kill "$(cat pid)"
	wait $!
}

on "$train"
$screen 90 <bytes >shown
$screen 90 erased <bytes >erased
like erased '^epoch 1/2, batch [0-9]+/38, [0-9.]+ samples/s, loss [0-9.]+(, .* left)?$' "pworker draws epoch, batch, speed and loss"
like erased '^epoch 2/2' "pworker draws the line of the second epoch"
is "$(grep -c '^epoch' shown)" 0 "pworker erases its progress"
like shown '^Epoch\[1\] Batch \[50\]|^Epoch\[1\] Train-accuracy=[01]\.[0-9]+$' \
	"pworker prints its lines for people between"
is "$(grep -c $'\e' rows)" 0 "the log has no escape sequences"
ok "progress has colours" grep -q $'\e\\[1m' bytes
$pty 90 24 $train >bytes
$screen 90 <bytes >shown
is "$(grep -c '	' shown)" 0 "pworker writes no rows to a terminal"
like shown '^pworker: the weights are not saved; --save PREFIX saves them after each epoch$' "pworker says that nothing is saved"
like shown '^epoch 1 of 2: loss [0-9.]+, accuracy 0\.[0-9]+, [0-9]+ samples/s(, [0-9]+ (s|min) left)?$' \
	"pworker prints a line for each epoch"
like shown '^epoch 2 of 2: loss ' "epochs are counted as checkpoints are"
$pty 90 24 $train --save t --val train.rec --log-style console --log t.tsv >bytes
$screen 90 <bytes >shown
like shown '^saved t-0002\.safetensors$' "pworker names checkpoints on a terminal"
like shown '^epoch 2 of 2: validation loss [0-9.]+, accuracy 0\.[0-9]+$' "pworker prints a line for each validation"
is "$(grep -c 'not saved' shown)" 0 "a run with --save is not asked to use it"
is "$(awk -F'\t' '$5 == "step"' t.tsv | wc -l)" 76 "--log writes the rows to a file"
$pty 90 24 $train --log-style mxnet >bytes
$screen 90 <bytes >shown
like shown '^Epoch\[1\] Train-accuracy=[01]\.[0-9]+$' "--log-style selects the wording on a terminal"

export NO_COLOR=1
on "$train"
is "$(grep -c $'\e\\[[0-9]*m' bytes)" 0 "NO_COLOR disables colours"
ok "NO_COLOR keeps progress" grep -q $'\e\\[J' bytes
unset NO_COLOR
TERM=dumb on "$train"
is "$(grep -c $'\e' bytes)" 0 "TERM=dumb disables progress"
like bytes '^Epoch\[1\] Train-accuracy=' "TERM=dumb keeps the lines for people"
$train >/dev/null 2>bytes
is "$(grep -c $'\e\|^epoch' bytes)" 0 "no progress is drawn in a file"

# Narrow terminals omit the speed first, then the batch, the loss, and the time left.  The loss takes 13 columns, which a
# long time left, as on a busy machine, may need.
omits_early() { # COLUMNS: lines without a loss that would have had room for it
	awk -v most=$(($1 - 1)) '/left$/ && !/loss/ && length + 13 <= most' erased
}
slow="$train --epochs 990"
left='([0-9]+ h |([0-9]+ h )?[0-9]+ (s|min) )left'
for cols in 40 30; do
	until_drawn "$left" "$slow" $cols
	$screen $cols <bytes >shown
	$screen $cols erased <bytes >erased
	like erased "^epoch [0-9]+/990(, loss [0-9.]+)?, $left\$" "$cols columns show the most important values"
	is "$(omits_early $cols)" "" "$cols columns show the loss if it fits"
	is "$(awk "length > $cols - 1" erased)" "" "$cols columns are not exceeded"
	is "$(grep -c '^epoch' shown)" 0 "progress in $cols columns is erased"
done
until_drawn "$left" "dlaunch -n 2 -s 1 $slow" 50
$screen 50 erased <bytes >erased
like erased "^worker [01]: epoch [0-9]+/990(, loss [0-9.]+)?, $left\$" "dlaunch omits values in 50 columns"
is "$(omits_early 50)" "" "dlaunch shows the loss in 50 columns if it fits"
for w in 0 1; do
	until_drawn "worker $w .*epoch.*loss" "dlaunch -n 2 -s 1 $slow" 90
	$screen 90 erased <bytes >erased
	like erased "^worker $w on localhost: epoch [0-9]+/990, batch [0-9]+/19, [0-9.]+ samples/s, loss" "dlaunch draws worker $w"
done

on "dlaunch -n 2 -s 1 $train --epochs 3"
$screen 90 <bytes >shown
like shown '^worker 0: Epoch\[2\] Train-accuracy=' "dlaunch prints output above its progress"
is "$(grep -c '^worker [01] on' shown)" 0 "dlaunch erases its progress"
is "$(awk -F'\t' '$5 == "step"' rows | wc -l)" 114 "dlaunch's output is complete"
$pty 90 24 dlaunch -n 2 -s 1 $train --epochs 3 --save job >bytes
$screen 90 <bytes >shown
like shown '^worker 0: epoch 3 of 3: loss [0-9.]+, accuracy' "dlaunch on a terminal has pworker's lines for people"
like shown '^worker 0: saved job-0003.safetensors$' "dlaunch on a terminal names each checkpoint"
is "$(grep -c "$(printf '\t')\|^#" shown)" 0 "dlaunch on a terminal leaves out the rows of logs"
$pty 90 24 dlaunch -n 1 -s 0 pworker --eval job-0003.safetensors --data train.rec >bytes
$screen 90 <bytes >shown
like shown '^samples.*accuracy' "dlaunch on a terminal writes other tables"
export TALLY_JOBS=$T/jobs XDG_STATE_HOME=$T/state
status 0 "a job is detached" dlaunch -n 1 -s 1 --detach --job kept $train
status 0 "dlaunch wait waits for the end of the job" dlaunch wait kept
$pty 90 24 dlaunch attach kept >bytes
$screen 90 <bytes >shown
like shown '^worker 0: Epoch\[1\] Train-accuracy=' "dlaunch attach shows lines for people on a terminal"
is "$(grep -c "$(printf '\t')\|^#" shown)" 0 "dlaunch attach leaves out the rows of logs on a terminal"
is "$(dlaunch logs kept 2>/dev/null | awk -F'\t' '$3 == "worker" && $5 == "step"' | wc -l)" 76 "dlaunch logs has all rows elsewhere"
status 0 "a job of another program is detached" dlaunch -n 1 --detach --job other printf '# Heading\n1\t2\n'
status 0 "dlaunch wait waits for the end of the other job" dlaunch wait other
$pty 90 24 dlaunch logs other >bytes
like bytes '^# Heading' "dlaunch logs shows another program's lines with # on a terminal"
: >bytes
on "dlaunch -n 3 -s 0 -- sh -c 'echo Epoch[4] Batch [7] Speed: 12.5 samples/sec
	until grep -q \"worker 1 .*12.5 samples/s\" bytes; do sleep 0.05; done; exit \$DMLC_WORKER_ID'"
$screen 90 erased <bytes >erased
like erased '^worker 1 on localhost: epoch 5, 12\.5 samples/s$' "dlaunch reads the progress of another program's log"
$pty 90 6 dlaunch -n 8 -s 0 -- sleep 0.6 >bytes
$screen 90 erased <bytes >erased
like erased '^and 5 more workers$' "dlaunch draws no more lines than fit"

# Weights of some 40 MB, which take a while.
pworker --net mlp --widths 2000,2000,1000 --shape 3x28x28 --classes 10 --data train.rec --batch 16 --lr 0 --steps 1 --save w >/dev/null 2>&1
w=$(ls w-*.safetensors)
for job in "pmerge --mean -o mean.safetensors $w $w $w $w" "pmerge --split 3 -o part $w" "pmerge -o one.onnx $w"; do
	on "$job"
	$screen 90 <bytes >shown
	$screen 90 erased <bytes >erased
	like erased '^[0-9]+\.[0-9] of [0-9]+\.[0-9] MB' "${job%% -o*} draws its progress"
	is "$(grep -c . shown)" 0 "${job%% -o*} erases its progress"
	status 0 "${job%% -o*} runs without a terminal" $job
	is "$(cat "$T/err")" "" "${job%% -o*} draws nothing without a terminal"
done

for job in "pmerge --list $w" "pmerge --verify $w" "pmerge --diff $w mean.safetensors"; do
	on "$job"
	$screen 90 <bytes >shown
	$screen 90 erased <bytes >erased
	like erased '^tensor [0-9] of [0-9]+, fc' "${job%% w-*} draws its progress"
	is "$(grep -c . shown)" 0 "${job%% w-*} erases its progress"
	is "$($job 2>&1 >plain; cat plain)" "$(cat rows)" "${job%% w-*} prints the same rows without a terminal"
done

# A pipe that is slow until the line of progress is there.
: >err
SECONDS=0
perl -e 'open(my $f, "<", "train.rec"); $| = 1;
	while (read $f, my $piece, 1000) { print $piece; select undef, undef, undef, 0.02 unless -s "err" }' |
	im2rec --to-tar -o slow.tar - 2>err
like err '^im2rec: [0-9]+ images, [0-9.]+ MB, [0-9]+/s$' "im2rec prints plain lines of progress without a terminal"
ok "lines of progress are rare" awk -v s=$((SECONDS + 1)) '{ print; n += n ? n : 2 } END { exit n > s }' err
done_testing
