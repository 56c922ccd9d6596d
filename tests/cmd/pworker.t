#!/usr/bin/env bash
# pworker.t - streams, exit codes, messages, bad input, checkpoints.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1

# 60 pictures of 32x32 in CIFAR's format: the class is how bright the picture is.
mkdir c
perl -e 'srand 1; for $i (0..59) { print chr($i % 10), join "", map { chr(int($i % 10 * 25 + rand 6)) } 1..3072 }' >c/data_batch_1.bin
status 0 "the pictures are packed" im2rec c/data_batch_1.bin -o train.rec
train="pworker --net mlp --shape 3x28x28 --data train.rec --batch 16 --lr 0.01 --scale 0.00390625"

status 0 "--help" pworker --help
ok "--help fits a screen" awk 'END { exit NR > 24 }' out
status 0 "--version" pworker --version
status 2 "no arguments" pworker
like err '^usage: pworker ' "... is answered by the usage"
status 2 "no records" pworker --net mlp
like err '^pworker: --data: is missing: records to train on$' "... is told"
status 2 "no net" pworker --data train.rec
like err '^pworker: --net: is missing$' "... is told"
status 2 "a letter that is none" $train -vx
like err '^pworker: -v: no option of pworker$' "... is named"
for rule in fc9=2:"'fc9' is the name of no array of the net" fc1_weight=x:"'fc1_weight': 'x' is not a number"; do
	status 2 "a rule of names: ${rule%%:*}" $train --wd-mult "${rule%%:*}"
	is "$(cat err)" "pworker: --wd-mult: ${rule#*:}" "... is told with its option"
done
status 2 "a word that is no option" $train image.png
like err "^pworker: 'image\.png' is no option, and pictures are for --eval and --predict$" "... is told"
status 2 "letters in a word behind another's" $train --print -xy
is "$(cat err)" "pworker: -x: no option of pworker" "... the first is named"
echo 'return softmax{flatten(data(3, 8, 8))}' >none.lua
status 2 "a net without arrays" pworker --net ./none.lua --data train.rec
is "$(cat err)" "pworker: ./none.lua: the net has no arrays to learn" "... is told"
status 2 "an empty value" $train --resume ""
like err '^pworker: --resume: an empty value$' "... is named by its option"
status 2 "a bad number" $train --batch 0
like err "^pworker: --batch: 0 is not in 1\.\.65536$" "... is named with its bounds"
status 2 "a bad shape" $train --shape 3x28
status 2 "a bad worker" $train --worker 2/2
status 2 "a range upside down" $train --random-scale 2,1
like err "^pworker: --random-scale: '2,1' is not LO,HI$" "... is named"
status 2 "two of three channels" $train --mean-rgb 1,2
status 2 "crops that exclude each other" $train --rand-crop --rand-resized-crop
status 2 "a bad rate" $train --lr fast
status 2 "a bad rule" $train --init uniform
status 2 "servers without a key" $train --servers 127.0.0.1:1
status 2 "several workers without servers" $train --worker 0/2
status 1 "a net that is not there" pworker --net nowhere.lua --data train.rec
like err '^pworker: .*nowhere\.lua' "... is named"
status 2 "an option that neither pworker nor the net knows" $train --layrs 3
like err 'layrs' "... is named"
status 1 "records that are not there" pworker --net mlp --data nowhere.rec
like err '^pworker: .*nowhere\.rec: .*No such file' "... are named"
head -c 1000 train.rec >short.rec
status 1 "truncated records" pworker --net mlp --shape 3x28x28 --data short.rec
like err '^pworker: .*short\.rec: ' "... are named"
is "$(wc -l <err)" 1 "... in one line"
head -c 5000 /dev/urandom >noise.rec
status 1 "foreign bytes" pworker --net mlp --shape 3x28x28 --data noise.rec
like err '^pworker: .*noise\.rec: ' "... are named"

status 0 "--print" pworker --net lenet --print
like out '431080' "... counts LeNet's weights"
pworker --net lenet --variant bn --print >named
status 0 "an option of the net" pworker --net lenet --net-opt variant=none --net-opt variant=bn --print
ok "... is the one of its own name, the last that was said" cmp named out
status 2 "one without its value" pworker --net lenet --net-opt variant --print
like err "^pworker: --net-opt: 'variant' is not KEY=VALUE$" "... is told"
status 2 "one that the net has not" pworker --net lenet --net-opt depth=50 --print
like err "^pworker: .*lenet.lua: this net has no option 'depth'$" "... is named"

# Only what computes starts itself again, for OpenMP's sake: each start has the loader tell its time.
starts() { LD_DEBUG=statistics "$@" 2>&1 >/dev/null </dev/null | grep -c 'total startup time'; }
for word in --help --help-data --version --recipes "--net mlp --print"; do
	is "$(unset GOMP_SPINCOUNT OMP_WAIT_POLICY; starts pworker $word)" 1 "$word starts once"
done
is "$(unset GOMP_SPINCOUNT; OMP_WAIT_POLICY= starts pworker --net mlp)" 2 "an empty word about waiting is none"

status 0 "two epochs" $train --val train.rec --epochs 2 --save w --frequent 2
is "$(grep -c '^time_s' out)" 1 "one line of names in the log"
is "$(awk -F'\t' '$5 == "step"' out | wc -l)" 8 "a row a step: 60 records in 4 steps, twice"
is "$(awk -F'\t' '$5 == "epoch" { n += $8 } END { print n }' out)" 120 "every record once an epoch"
is "$(awk -F'\t' '$5 == "validation" { print $8 }' out | tr '\n' ' ')" "60 60 " "every record validated once"
like err '^Epoch\[0\] Batch \[2\]	Speed: [0-9.]+ samples/sec	Train-accuracy=[01]\.[0-9]{6}$' "MXNet's line of speed"
like err '^Epoch\[1\] Train-accuracy=[01]\.[0-9]+$' "MXNet's line of an epoch"
like err '^Epoch\[1\] Time cost=[0-9.]+$' "MXNet's line of time"
like err '^Epoch\[1\] Validation-accuracy=[01]\.[0-9]+$' "MXNet's line of validation"
like err '^Saved checkpoint to "w-0002\.safetensors"$' "a checkpoint an epoch"

is "$(awk -F'\t' '$5 == "step" || $5 == "epoch" || $5 == "validation" { if ($22 < $10 || $22 > 1) print }' out)" "" \
	"top-5 is no less than accuracy, everywhere"
is "$(awk -F'\t' '$5 == "save" && $22 != ""' out)" "" "... where there is any"
status 0 "the lines of another time" $train --val train.rec --epochs 1 --frequent 2 --log-style mxnet-2015
like err '^Iter\[0\] Batch \[2\]	Speed: [0-9.]+ samples/sec$' "... for speed"
like err '^Iteration\[0\] Train-accuracy=[01]\.[0-9]+$' "... for an epoch"
like err '^Iteration\[0\] Validation-accuracy=[01]\.[0-9]+$' "... for validation"
is "$(grep -c Epoch err)" 0 "... and no other"
status 0 "those of another system" $train --val train.rec --epochs 2 --frequent 3 --log-style tensorflow
is "$(sed -E 's/is [0-9][0-9e-]*(\.[0-9e-]+)?/is X/g; s/[0-9.]+ sec/S sec/' err | tr '\n' '|')" "session started|$(printf '%s|' \
	'After 3 training steps (3 global steps), loss on training batch is X, accuracy is X. (S sec/batch)' \
	'After 4 training steps, loss on validation is X, accuracy is X.' \
	'After 6 training steps (6 global steps), loss on training batch is X, accuracy is X. (S sec/batch)' \
	'After 8 training steps, loss on validation is X, accuracy is X.' 'total step: 8, global_step: 8')" "... word by word"
is "$(sed -n 's/.*loss on training batch is \([0-9.]*\),.*/\1/p' err | tr '\n' ' ')" \
	"$(awk -F'\t' '$5 == "step" && $7 % 3 == 0 { printf "%g ", $9 }' out)" "... with the batch's loss"
status 0 "the same of two workers that do not wait" dlaunch -n 2 -s 1 $train --epochs 2 --frequent 3 --log-style tensorflow --async
is "$(grep -o 'total step: [0-9]*' err | tr '\n' ' ')" "total step: 4 total step: 4 " "... each counts its own steps"
is "$(sed -n 's/.*global_step: //p' err | sort -n | tail -n 1)" 8 "... and who ends last those of both"
status 2 "lines of nobody's" $train --log-style lines
status 0 "the same again" $train --epochs 2 --save v
ok "... is the same, to the last byte" cmp w-0002.safetensors v-0002.safetensors
status 0 "stopped after 6 steps" $train --epochs 2 --save x --steps 6
# A library that was promised two threads and got one would leave gradients out.
(unset OMP_NUM_THREADS; $train --epochs 1 --threads 1 --save one >/dev/null 2>&1
	OMP_THREAD_LIMIT=1 OMP_DYNAMIC=true $train --epochs 1 --threads 2 --save limited >/dev/null 2>&1)
ok "fewer threads than were asked for compute all the same" cmp one-0001.safetensors limited-0001.safetensors
status 0 "resumed" $train --epochs 2 --save x --resume x-0001-000002.safetensors
ok "... is the same too" cmp w-0002.safetensors x-0002.safetensors
status 0 "resumed at its end" $train --epochs 2 --resume x-0002.safetensors
like err '^pworker: trained nothing: 8 steps are done already, as many as --epochs asks for$' "... says so"
status 2 "resumed with another seed" $train --resume x-0001-000002.safetensors --seed 1
like err 'x-0001-000002\.safetensors: was saved with --seed 0' "... is refused"
status 2 "resumed within an epoch with another batch" $train --resume x-0001-000002.safetensors --batch 8
head -c 300 w-0002.safetensors >cut.safetensors
status 1 "resumed from a truncated file" $train --resume cut.safetensors
like err '^pworker: cut\.safetensors: ' "... that is named"
status 1 "resumed into another net" pworker --net lenet --data train.rec --shape 3x28x28 --resume w-0002.safetensors
like err '^pworker: w-0002\.safetensors: ' "... is refused by the file's name"

cp train.rec more.rec
status 0 "--data twice" $train --data more.rec --epochs 1
is "$(awk -F'\t' '$5 == "epoch" { print $8 }' out)" 120 "... adds the records up"

piped=${train/train.rec/-}
status 0 "records from standard input" sh -c "cat train.rec more.rec | $piped --save p"
is "$(awk -F'\t' '$5 == "epoch" { print $8 }' out | tr '\n' ' ')" "120 " "... are one epoch, whatever its length"
ok "... with a checkpoint at its end" test -e p-0000-000008.safetensors
status 1 "a pipe that ends at once" sh -c ": | $piped"
like err '^pworker: -: holds no record$' "... is an error"
status 1 "a pipe that ends inside a record" sh -c "head -c 5000 train.rec | $piped"
like err '^pworker: -: record at [0-9]+: the stream ends inside it$' "... is named"
status 2 "a pipe to validate on" sh -c "cat train.rec | $train --val -"
status 2 "a mean image of a pipe" sh -c "cat train.rec | $piped --mean none.bin"
status 0 "decoded pictures kept" $train --epochs 2 --cache ram:1 --save c
like err '^pworker: 60 pictures in memory, [0-9]+ bytes$' "... and how much memory they take"
ok "... change no bit" cmp c-0002.safetensors w-0002.safetensors
status 0 "a shuffle buffer over a file" $train --shuffle-buffer 16 --epochs 1
is "$(awk -F'\t' '$5 == "epoch" { print $8 }' out)" 60 "... gives every record"
status 2 "a label that records do not have" $train --label-at 1 --epochs 1
like err '^pworker: train\.rec: record at [0-9]+, id [0-9]+: it has 1 label, and none at 1$' "... is named"
is "$(grep -c . err) $(awk -F'\t' '$5 == "step"' out | wc -l)" "1 0" "... before a step is done"

im2rec --cat 0 train.rec >one.png && printf '0\t99\tone.png\n' >one.lst && im2rec -o one.rec one.lst
status 1 "records of which none gives a sample" pworker --net mlp --shape 3x28x28 --classes 10 --data one.rec --epochs 3
like err '^pworker: one\.rec: no record of epoch 0 gave a sample$' "... are not learned from"

mkfifo rows
$train --epochs 1000000 --save s >rows 2>err & pid=$!
exec 3<rows
while IFS= read -r line <&3; do case $line in *"	step	"*) break ;; esac; done
# The frame of a signal has no place on a thread that computes: there oneDNN uses the stack's pointer for other things.
through=
for t in /proc/$pid/task/*; do
	blocked=$(awk '$1 == "SigBlk:" { print $2 }' "$t/status")
	((16#$blocked & 0x4000)) || through="$through ${t##*/}"
done
is "$(wc -w <<<"$through")" 1 "one thread takes SIGTERM:$through"
ok "... and not the one that computes" [ "${through# }" != "$pid" ]
kill -TERM $pid
cat <&3 >rest & cat=$!
wait $pid
is $? 143 "SIGTERM ends it with 128 + 15"
wait $cat
exec 3<&-
saved=$(ls s-*-*.safetensors s-*.safetensors 2>/dev/null | tail -n 1)
status 0 "... and leaves a checkpoint to go on from" $train --steps 1 --resume "$saved"

status 0 "the mean image is made" $train --steps 2 --mean m.bin --save m
is "$(od -An -tx1 -N2 m.bin | tr -d ' ')" 1201 "... in MXNet's format"
cp m-0000-000002.safetensors first
status 0 "... and used the next time" $train --steps 2 --mean m.bin --save m
ok "... alike" cmp first m-0000-000002.safetensors
: >bad.bin
status 1 "a broken mean image" $train --mean bad.bin
like err '^pworker: bad\.bin: ' "... is named"

status 1 "a full disk under the log" sh -c "$train --steps 2 >/dev/full"
status 1 "a checkpoint that cannot be written" $train --steps 1 --save /nowhere/w
like err '/nowhere/w' "... is named"
ok "no temporary file is left" sh -c '! ls *.tmp 2>/dev/null'
done_testing
