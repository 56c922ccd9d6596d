#!/usr/bin/env bash
# pworker.t - streams, exit codes, messages, bad input, checkpoints.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1

# 60 images of 32x32 in CIFAR's format: the class is how bright the image is.
mkdir c
perl -e 'srand 1; for $i (0..59) { print chr($i % 10), join "", map { chr(int($i % 10 * 25 + rand 6)) } 1..3072 }' >c/data_batch_1.bin
status 0 "im2rec packs images in CIFAR's format" im2rec c/data_batch_1.bin -o train.rec
train="pworker --net mlp --shape 3x28x28 --data train.rec --batch 16 --lr 0.01 --scale 0.00390625"

status 0 "pworker --help exits with 0" pworker --help
ok "pworker --help fits a screen" awk 'END { exit NR > 24 }' out
status 0 "pworker --version exits with 0" pworker --version
status 2 "pworker refuses an empty command line" pworker
like err '^usage: pworker ' "pworker prints its usage if it gets no arguments"
status 2 "pworker refuses to train without --data" pworker --net mlp
like err '^pworker: --data: is missing; name the records to train on$' "pworker's error names the missing --data"
status 2 "pworker refuses to train without --net" pworker --data train.rec
like err '^pworker: --net: is missing; name a net' "pworker's error names the missing --net"
status 2 "pworker refuses an unknown letter" $train -vx
like err '^pworker: -v: no such option; --help lists the options$' "pworker's error names the unknown letter"
for rule in fc9=2:"'fc9' is the name of no array of the net" fc1_weight=x:"'fc1_weight': 'x' is not a number"; do
	status 2 "--wd-mult refuses ${rule%%:*}" $train --wd-mult "${rule%%:*}"
	is "$(cat err)" "pworker: --wd-mult: ${rule#*:}" "the error gives the reason why --wd-mult refuses ${rule%%:*}"
done
status 2 "pworker refuses an operand if it trains" $train image.png
like err "^pworker: 'image\.png' is not an option; images are for --eval and --predict; --help shows the usage$" \
	"pworker's error quotes the operand and names the modes that take images"
status 2 "pworker refuses two unknown letters in one word" $train --print -xy
is "$(cat err)" "pworker: -x: no such option; --help lists the options" "pworker's error names the first of two unknown letters"
echo 'return softmax{flatten(data(3, 8, 8))}' >none.lua
status 2 "pworker refuses to train a net without arrays" pworker --net ./none.lua --data train.rec
is "$(cat err)" "pworker: ./none.lua: the net has no arrays to learn" "pworker's error names the net without arrays"
status 2 "--resume refuses an empty value" $train --resume ""
like err '^pworker: --resume: the value is empty$' "pworker's error names the option whose value is empty"
status 2 "--batch refuses 0" $train --batch 0
like err "^pworker: --batch: 0 is not in 1\.\.65536$" "--batch's error gives its bounds"
status 2 "--shape refuses two dimensions" $train --shape 3x28
status 2 "--worker refuses rank 2 of 2" $train --worker 2/2
status 2 "--random-scale refuses a range whose start exceeds its end" $train --random-scale 2,1
like err "^pworker: --random-scale: '2,1' is not LO,HI$" "--random-scale's error quotes the range"
status 2 "--mean-rgb refuses two of three channels" $train --mean-rgb 1,2
status 2 "pworker refuses --rand-crop with --rand-resized-crop" $train --rand-crop --rand-resized-crop
status 2 "--lr refuses a word" $train --lr fast
status 2 "--init refuses a rule without a number" $train --init uniform
status 2 "--servers needs a key or --plain" $train --servers 127.0.0.1:1
status 2 "--worker 0/2 needs --servers" $train --worker 0/2
status 2 "an option near to one of the net is refused" pworker --net resnet --layesr 20 --data train.rec
like err "resnet\.lua: this net has no option 'layesr'; did you mean --layers\?$" "the error proposes the net's option"
status 1 "an unknown net is refused" pworker --net resnett --data train.rec
is "$(cat err)" "pworker: resnett: no such net; did you mean resnet?" "the error proposes a net"
status 1 "a net like none is refused" pworker --net transformer --data train.rec
like err '^pworker: transformer: no such net; there are alexnet, .*, vgg, and paths of scripts$' "the error lists the nets"
status 2 "a mistyped --net is refused" pworker --nett mlp --data train.rec
is "$(cat err)" "pworker: --nett: no such option; did you mean --net?" "the error proposes it"
status 2 "a mistyped option of --eval is refused" pworker --eval w.safetensors --confusio 1 --data train.rec
is "$(cat err)" "pworker: --confusio: no such option; did you mean --confusion?" "the error proposes that of --eval"
mkdir pictures
status 2 "a folder without records is refused" pworker --net mlp --data pictures
is "$(cat err)" "pworker: pictures: a folder without .rec files; im2rec packs images into one" "the error says how to make them"
status 2 "an unknown recipe is refused" pworker @mnist-lenett --data train.rec
is "$(cat err)" "pworker: recipe mnist-lenett: no such recipe; did you mean @mnist-lenet?" "the error proposes a recipe"
status 2 "--mean in a folder that does not exist is refused" $train --mean nowhere/m.bin
is "$(cat err)" "pworker: --mean: nowhere/m.bin: there is no folder nowhere" "the error names the folder"
status 1 "a file that holds no tensors is refused" pworker --eval train.rec --data train.rec
is "$(cat err)" "pworker: train.rec: holds records; name a file of weights" "the error says what it holds"
head -c 99 /dev/zero | tr '\0' x >text
status 1 "a text in place of weights is refused" pworker --eval text --data train.rec
is "$(cat err)" "pworker: text: is neither safetensors nor an NDArray list; name a file of weights" "the error says what to name"
status 1 "a log in a folder that does not exist is refused" $train --log nowhere/log
is "$(cat err)" "pworker: nowhere/log: create: there is no folder nowhere" "the error names the folder"
status 1 "pworker fails if the file of the net is missing" pworker --net nowhere.lua --data train.rec
like err '^pworker: .*nowhere\.lua' "pworker's error names the missing file of the net"
status 2 "pworker refuses an option that neither it nor the net has" $train --layrs 3
like err 'layrs' "pworker's error names the option that nothing has"
status 1 "pworker fails if --data names a missing file" pworker --net mlp --data nowhere.rec
like err '^pworker: .*nowhere\.rec: .*No such file' "pworker's error names the missing file of records"
head -c 1000 train.rec >short.rec
status 1 "pworker refuses a truncated file of records" pworker --net mlp --shape 3x28x28 --data short.rec
like err '^pworker: .*short\.rec: ' "pworker's error names the truncated file of records"
is "$(wc -l <err)" 1 "pworker's error about truncated records is one line"
head -c 5000 /dev/urandom >noise.rec
status 1 "pworker refuses a file of random bytes" pworker --net mlp --shape 3x28x28 --data noise.rec
like err '^pworker: .*noise\.rec: ' "pworker's error names the file of random bytes"

status 0 "pworker --print exits with 0" pworker --net lenet --print
like out '431080' "pworker --print counts LeNet's weights"
pworker --net lenet --variant bn --print >named
status 0 "pworker accepts --net-opt twice" pworker --net lenet --net-opt variant=none --net-opt variant=bn --print
ok "the last --net-opt wins over an earlier one" cmp named out
status 2 "--net-opt refuses a key without a value" pworker --net lenet --net-opt variant --print
like err "^pworker: --net-opt: 'variant' is not KEY=VALUE$" "--net-opt's error quotes the key without a value"
status 2 "--net-opt refuses an option that the net lacks" pworker --net lenet --net-opt depth=50 --print
like err "^pworker: .*lenet.lua: this net has no option 'depth'; it has --variant$" \
	"--net-opt's error names the net and the option that it lacks"

# Only a pworker that computes starts itself again, for OpenMP's sake: the loader reports its time at each start.
starts() { LD_DEBUG=statistics "$@" 2>&1 >/dev/null </dev/null | grep -c 'total startup time'; }
for word in --help --help-data --version --recipes "--net mlp --print"; do
	is "$(unset GOMP_SPINCOUNT OMP_WAIT_POLICY; starts pworker $word)" 1 "pworker $word starts once"
done
is "$(unset GOMP_SPINCOUNT; OMP_WAIT_POLICY= starts pworker --net mlp)" 2 "pworker starts again if OMP_WAIT_POLICY is empty"

status 0 "pworker trains two epochs with --val and --save" $train --val train.rec --epochs 2 --save w --frequent 2
is "$(grep -c '^time_s' out)" 1 "the log has one line of column names"
is "$(awk -F'\t' '$5 == "step"' out | wc -l)" 8 "the log has a row for each of the eight steps"
is "$(awk -F'\t' '$5 == "epoch" { n += $8 } END { print n }' out)" 120 "an epoch counts every record once"
is "$(awk -F'\t' '$5 == "validation" { print $8 }' out | tr '\n' ' ')" "60 60 " "a validation counts every record once"
like err '^Epoch\[0\] Batch \[2\]	Speed: [0-9.]+ samples/sec	Train-accuracy=[01]\.[0-9]{6}$' \
	"--frequent prints MXNet's line of speed"
like err '^Epoch\[1\] Train-accuracy=[01]\.[0-9]+$' "pworker prints MXNet's line of training accuracy"
like err '^Epoch\[1\] Time cost=[0-9.]+$' "pworker prints MXNet's line of an epoch's time"
like err '^Epoch\[1\] Validation-accuracy=[01]\.[0-9]+$' "pworker prints MXNet's line of validation accuracy"
like err '^Saved checkpoint to "w-0002\.safetensors"$' "pworker reports the checkpoint of the last epoch"

is "$(awk -F'\t' '$5 == "step" || $5 == "epoch" || $5 == "validation" { if ($22 < $10 || $22 > 1) print }' out)" "" \
	"top-5 accuracy is at least the accuracy in every row"
is "$(awk -F'\t' '$5 == "save" && $22 != ""' out)" "" "rows of saved checkpoints have no top-5 accuracy"
status 0 "--log-style accepts mxnet-2015" $train --val train.rec --epochs 1 --frequent 2 --log-style mxnet-2015
like err '^Iter\[0\] Batch \[2\]	Speed: [0-9.]+ samples/sec$' "--log-style mxnet-2015 prints lines of speed"
like err '^Iteration\[0\] Train-accuracy=[01]\.[0-9]+$' "--log-style mxnet-2015 prints lines of training accuracy"
like err '^Iteration\[0\] Validation-accuracy=[01]\.[0-9]+$' "--log-style mxnet-2015 prints lines of validation accuracy"
is "$(grep -c Epoch err)" 0 "--log-style mxnet-2015 prints no line of newer MXNet"
status 2 "TALLY_LOG_STYLE refuses another style" env TALLY_LOG_STYLE=pretty $train
is "$(cat err)" "pworker: TALLY_LOG_STYLE: 'pretty' is none of console, mxnet, mxnet-2015 and tensorflow" "the error has the styles"
status 0 "--log-style wins over TALLY_LOG_STYLE" env TALLY_LOG_STYLE=pretty $train --log-style mxnet
status 0 "--log-style accepts tensorflow" $train --val train.rec --epochs 2 --frequent 3 --log-style tensorflow
is "$(sed -E 's/is [0-9][0-9e-]*(\.[0-9e-]+)?/is X/g; s/[0-9.]+ sec/S sec/' err | tr '\n' '|')" "session started|$(printf '%s|' \
	'After 3 training steps (3 global steps), loss on training batch is X, accuracy is X. (S sec/batch)' \
	'After 4 training steps, loss on validation is X, accuracy is X.' \
	'After 6 training steps (6 global steps), loss on training batch is X, accuracy is X. (S sec/batch)' \
	'After 8 training steps, loss on validation is X, accuracy is X.' 'total step: 8, global_step: 8')" \
	"--log-style tensorflow prints TensorFlow's lines word by word"
is "$(sed -n 's/.*loss on training batch is \([0-9.]*\),.*/\1/p' err | tr '\n' ' ')" \
	"$(awk -F'\t' '$5 == "step" && $7 % 3 == 0 { printf "%g ", $9 }' out)" \
	"--log-style tensorflow prints the loss of the batch"
status 0 "two asynchronous workers accept --log-style tensorflow" \
	dlaunch -n 2 -s 1 $train --epochs 2 --frequent 3 --log-style tensorflow --async
is "$(grep -o 'total step: [0-9]*' err | tr '\n' ' ')" "total step: 4 total step: 4 " \
	"each asynchronous worker counts its own steps"
is "$(sed -n 's/.*global_step: //p' err | sort -n | tail -n 1)" 8 "the last asynchronous worker to end counts the steps of both"
status 2 "--log-style refuses an unknown style" $train --log-style lines
status 0 "pworker trains the same two epochs again" $train --epochs 2 --save v
ok "two runs with the same options end in the same bytes" cmp w-0002.safetensors v-0002.safetensors
status 0 "--steps 6 ends a run within its second epoch" $train --epochs 2 --save x --steps 6
# A library that expects two threads and gets one would leave out gradients.
(unset OMP_NUM_THREADS; $train --epochs 1 --threads 1 --save one >/dev/null 2>&1
	OMP_THREAD_LIMIT=1 OMP_DYNAMIC=true $train --epochs 1 --threads 2 --save limited >/dev/null 2>&1)
ok "two threads under a limit of one end in the bytes of one thread" cmp one-0001.safetensors limited-0001.safetensors
OMP_MAX_ACTIVE_LEVELS=0 timeout 60 $train --epochs 1 --threads 2 --save flat >/dev/null 2>&1
ok "two threads where OpenMP may start none end in the bytes of one thread" cmp one-0001.safetensors flat-0001.safetensors
# With OMP_DYNAMIC OpenMP starts no more threads than this process has processors.
$train --epochs 1 --devices cpu:0,cpu:1 --threads 4 --save two >/dev/null 2>&1
OMP_DYNAMIC=true timeout 60 taskset -c "$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)" \
	$train --epochs 1 --devices cpu:0,cpu:1 --threads 4 --save dynamic >/dev/null 2>&1
ok "devices of more threads than processors end in the same bytes with OMP_DYNAMIC" cmp two-0001.safetensors dynamic-0001.safetensors
status 0 "--resume accepts a checkpoint within an epoch" $train --epochs 2 --save x --resume x-0001-000002.safetensors
ok "a run resumed within an epoch ends in the bytes of an undisturbed one" cmp w-0002.safetensors x-0002.safetensors
status 0 "--resume accepts a checkpoint of a complete run" $train --epochs 2 --resume x-0002.safetensors
like err '^pworker: trained nothing: 8 steps are done already, as many as --epochs asks for$' \
	"pworker reports that a complete run has nothing left to train"
# A checkpoint of an older version, which has neither how images become samples nor the net's name nor a best epoch.
perl -0777 -ne '
	my ($n) = unpack "Q<", $_;
	my ($head, $rest) = (substr($_, 8, $n), substr $_, 8 + $n);
	$head =~ s/"(?:preprocessing|class_names|net|best_accuracy|best_epoch)":"(?:[^"\\]|\\.)*",?//g;
	$head =~ s/,\}/}/;
	$head .= " " x (-length($head) % 8);
	print pack("Q<", length $head), $head, $rest' x-0001-000002.safetensors >older.safetensors
is "$(grep -ac preprocessing x-0001-000002.safetensors) $(grep -acE 'preprocessing|best_epoch|class_names' older.safetensors)" "1 0" \
	"the older checkpoint lacks what later versions store"
status 0 "pworker resumes from a checkpoint of an older version" $train --epochs 2 --resume older.safetensors --save y
ok "an older checkpoint gives the same bytes" cmp y-0002.safetensors x-0002.safetensors
status 2 "--resume refuses another seed" $train --resume x-0001-000002.safetensors --seed 1
like err 'x-0001-000002\.safetensors: was saved with --seed 0' "--resume's error gives the seed of the checkpoint"
status 2 "--resume refuses another batch size within an epoch" $train --resume x-0001-000002.safetensors --batch 8
head -c 300 w-0002.safetensors >cut.safetensors
status 1 "--resume refuses a truncated file" $train --resume cut.safetensors
like err '^pworker: cut\.safetensors: ' "--resume's error names the truncated file"
status 1 "--resume refuses a file of another net" pworker --net lenet --data train.rec --shape 3x28x28 --resume w-0002.safetensors
like err '^pworker: w-0002\.safetensors: ' "--resume's error names the file of another net"

cp train.rec more.rec
status 0 "pworker accepts --data twice" $train --data more.rec --epochs 1
is "$(awk -F'\t' '$5 == "epoch" { print $8 }' out)" 120 "an epoch of two --data has the records of both"

piped=${train/train.rec/-}
status 0 "pworker trains on records from standard input" sh -c "cat train.rec more.rec | $piped --save p"
is "$(awk -F'\t' '$5 == "epoch" { print $8 }' out | tr '\n' ' ')" "120 " "records from standard input are one epoch"
ok "pworker saves a checkpoint at the end of standard input" test -e p-0000-000008.safetensors
status 1 "pworker refuses empty standard input" sh -c ": | $piped"
like err '^pworker: -: has no records$' "pworker's error says that standard input has no records"
status 1 "pworker fails if standard input ends inside a record" sh -c "head -c 5000 train.rec | $piped"
like err '^pworker: -: record at [0-9]+: the stream ends inside it$' "pworker's error gives the offset of the incomplete record"
part=$(($(wc -c <train.rec) * 3 / 4 - 1000)) piped="$piped --shuffle-buffer 8"
status 1 "pworker fails if standard input ends later" sh -c "head -c $part train.rec | $piped --save r"
steps=$(cut -f 5 out | grep -c '^step$')
sh -c "cat train.rec | $piped --steps $steps --save s" >/dev/null 2>&1
ok "pworker saves the steps before records that it cannot read" \
	cmp "r-0000-$(printf %06d "$steps").safetensors" "s-0000-$(printf %06d "$steps").safetensors"
status 2 "--val refuses standard input" sh -c "cat train.rec | $train --val -"
status 2 "--mean refuses to average the images of standard input" sh -c "cat train.rec | $piped --mean none.bin"
status 0 "pworker trains with --cache ram" $train --epochs 2 --cache ram:1 --save c
like err '^pworker: 60 images in memory, [0-9]+ bytes$' "--cache ram reports its images and their memory"
ok "--cache ram changes no byte of the weights" cmp c-0002.safetensors w-0002.safetensors
status 0 "pworker trains on a file with --shuffle-buffer" $train --shuffle-buffer 16 --epochs 1
is "$(awk -F'\t' '$5 == "epoch" { print $8 }' out)" 60 "--shuffle-buffer gives every record once an epoch"
status 0 "pworker trains with --drop-last" $train --drop-last --epochs 2 --val train.rec
is "$(awk -F'\t' '$5 == "epoch" || $5 == "validation" { print $5, $8 }' out | tr '\n' ' ')" \
	"epoch 48 validation 60 epoch 48 validation 60 " "--drop-last ends an epoch with the last full step, and validates on every record"
status 2 "--label-at refuses an index beyond the labels of a record" $train --label-at 1 --epochs 1
like err '^pworker: train\.rec: record at [0-9]+, id [0-9]+: it has 1 label, and none at 1$' \
	"--label-at's error names the record and counts its labels"
is "$(grep -c . err) $(awk -F'\t' '$5 == "step"' out | wc -l)" "1 0" "--label-at refuses a missing label before the first step"

im2rec --cat 0 train.rec >one.png && printf '0\t-1\tone.png\n' >one.lst && im2rec -o one.rec one.lst
status 1 "pworker fails if no record gives a sample" pworker --net mlp --shape 3x28x28 --classes 10 --data one.rec --epochs 3
like err '^pworker: one\.rec: no record of epoch 0 could be used$' "pworker's error names the file whose records give no sample"

mkfifo rows
$train --epochs 1000000 --save s >rows 2>err & pid=$!
exec 3<rows
while IFS= read -r line <&3; do case $line in *"	step	"*) break ;; esac; done
# A thread that computes must not take signals: there oneDNN uses the stack pointer for other things.
through=
for t in /proc/$pid/task/*; do
	blocked=$(awk '$1 == "SigBlk:" { print $2 }' "$t/status")
	((16#$blocked & 0x4000)) || through="$through ${t##*/}"
done
is "$(wc -w <<<"$through")" 1 "one thread takes SIGTERM:$through"
ok "the thread that computes does not take SIGTERM" [ "${through# }" != "$pid" ]
kill -TERM $pid
cat <&3 >rest & cat=$!
wait $pid
is $? 143 "SIGTERM ends pworker with status 143"
wait $cat
exec 3<&-
saved=$(ls s-*-*.safetensors s-*.safetensors 2>/dev/null | tail -n 1)
status 0 "--resume accepts the checkpoint that pworker saves on SIGTERM" $train --steps 1 --resume "$saved"

status 0 "--mean accepts a missing file" $train --steps 2 --mean m.bin --save m
is "$(od -An -tx1 -N2 m.bin | tr -d ' ')" 1201 "--mean writes the mean image in MXNet's format"
cp m-0000-000002.safetensors first
status 0 "--mean accepts the mean image of an earlier run" $train --steps 2 --mean m.bin --save m
ok "a run that makes the mean image and one that reads it agree" cmp first m-0000-000002.safetensors
: >bad.bin
status 1 "--mean refuses an empty file" $train --mean bad.bin
like err '^pworker: bad\.bin: ' "--mean's error names the empty file"

status 1 "pworker fails if the disk of its log is full" sh -c "$train --steps 2 >/dev/full"
status 1 "pworker fails if the directory of --save is missing" $train --steps 1 --save /nowhere/w
like err '/nowhere/w' "pworker's error names the checkpoint in a missing directory"
ok "pworker leaves no temporary file" sh -c '! ls *.tmp 2>/dev/null'
done_testing
