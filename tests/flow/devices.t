#!/usr/bin/env bash
# devices.t - a batch divided among devices ends in the bytes of one device that takes the same parts as micro-batches.
. "$TOP/tests/tap.sh"
. "$TOP/tests/flow/data.sh"
cd "$T" || exit 1
unset OMP_NUM_THREADS
d=cpu	# or ref, where this build has no cpu engine
pworker --net lenet --print --batch 1 --engine cpu >/dev/null 2>&1 || d=ref

# 60 images of 32x32 in CIFAR's format; the class is the brightness.
mkdir c
perl -e 'srand 1; for $i (0..59) { print chr($i % 10), map { chr(int($i % 10 * 25 + rand 6)) } 1..3072 }' \
	>c/data_batch_1.bin
im2rec c/data_batch_1.bin -o train.rec 2>im2rec.err
head -c $((50 * 3073)) c/data_batch_1.bin >c/data_batch_2.bin
im2rec c/data_batch_2.bin -o uneven.rec 2>im2rec.err
train() { pworker --shape 3x28x28 --data train.rec --val train.rec --rand-crop --rand-mirror --scale 0.004 --lr 0.02 --epochs 2 "$@"; }

for net in "lenet --variant bn" "lenet --variant bn --freeze 1 --optimizer adam" "mlp --widths 32,32 --dropout 0.5"; do
	# shellcheck disable=SC2086
	status 0 "$net: one device trains with micro-batches" \
		train --net $net --threads 1 --batch 10 --accumulate 2 --save one
	# shellcheck disable=SC2086
	status 0 "$net: two devices train" train --net $net --threads 2 --batch 20 --devices $d:0,$d:1 --save two
	like out "^# .* device=split:_$d:.*;_$d:" "$net: the log names both devices"
	ok "$net: two devices give the bytes of one" cmp <(tensors one-0002.safetensors) <(tensors two-0002.safetensors)
	# shellcheck disable=SC2086
	status 0 "$net: two devices train again" \
		train --net $net --threads 2 --batch 20 --devices $d:0,$d:1 --save again
	ok "$net: the second run writes the same file" cmp two-0002.safetensors again-0002.safetensors
	rm -f ./*.safetensors
done

# The last step of an epoch has 10 samples: the devices take 4, 3 and 3.
uneven="pworker --net lenet --variant bn --shape 3x28x28 --data uneven.rec --lr 0.02 --epochs 2 --scale 0.004"
status 0 "three devices train with an uneven last step" \
	$uneven --threads 3 --batch 21 --devices $d:0,$d:1,$d:2 --save three
status 0 "one device trains with three micro-batches" $uneven --threads 1 --batch 7 --accumulate 3 --save seven
ok "three devices give the bytes of one, also in the uneven step" \
	cmp <(tensors three-0002.safetensors) <(tensors seven-0002.safetensors)
status 0 "two workers train on two devices each" \
	dlaunch -n 2 -s 2 pworker --net lenet --shape 3x28x28 --data train.rec --batch 10 \
	--threads 2 --devices $d:0,$d:1 --epochs 1 --scale 0.004 --save job
status 0 "two devices evaluate the weights" \
	pworker --eval job-0001.safetensors --data train.rec --scale 0.004 --batch 15 --devices $d:0,$d:1
cp out two.out
status 0 "one device evaluates the weights" \
	pworker --eval job-0001.safetensors --data train.rec --scale 0.004 --batch 15
is "$(cut -f2- two.out)" "$(cut -f2- out)" "one and two devices give the same score"
status 0 "--print accepts two devices" pworker --net lenet --print --batch 7 --devices $d:0,$d:1
like out "^$d:1, batches of 4:$" "--print shows the batch of each device"
status 2 "a repeated device is refused" train --net lenet --devices $d:0,$d:0
like err "^pworker: --devices $d:0,$d:0: $d:0 is named twice$" "the error names the repeated device and the list"
status 2 "a trailing comma is refused" train --net lenet --devices $d:0,
like err "^pworker: --devices $d:0,: a name is missing$" "the error says that a name is missing"
status 2 "--engine is refused with --devices" train --net lenet --devices $d:0,$d:1 --engine $d
done_testing
