#!/usr/bin/env bash
# freeze.t - frozen arrays keep their values and are not sent: a small vgg with 0 to 3 frozen blocks, and batch norm.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1

# 40 images of 32x32 in CIFAR's format; the class is the brightness.
mkdir c
perl -e 'srand 1; for $i (0..39) { print chr($i % 10), map { chr(int($i % 10 * 25 + rand 6)) } 1..3072 }' \
	>c/data_batch_1.bin
im2rec c/data_batch_1.bin -o train.rec 2>im2rec.err
vgg="pworker --net vgg --layers 11 --width 8 --shape 3x32x32 --classes 10 --data train.rec --batch 4 --lr 0.001 --scale 0.004 --init msra"
small="pworker --net resnet --shape 3x28x28 --layers 8 --data train.rec --batch 4 --lr 0.01 --scale 0.004"

# By arithmetic: a group of n 3x3 convolutions from c to k channels is 9 c k + k + (n - 1) (9 k k + k) weights, and the
# layers after the groups are 512 x 8, 8 x 8 and 8 x 10 with biases.
weights() { # BLOCKS FROZEN: how many weights learn
	awk -v f="$1" 'BEGIN {
		split("1 1 2 2 2", n, " "); split("64 128 256 512 512", k, " ")
		all = 512 * 8 + 8 + 8 * 8 + 8 + 8 * 10 + 10; c = 3
		for (g = 1; g <= 5; g++) { if (g > f) all += 9 * c * k[g] + k[g] + (n[g] - 1) * (9 * k[g] * k[g] + k[g]); c = k[g] }
		print all }'
}
sent() { # LOG CLASS COLUMN: bytes of a class that all servers and workers sent (17) or received (16)
	awk -F'\t' -v c="$2" -v f="$3" '$5 == "traffic" && $19 == c { n += $f } END { print n + 0 }' "$1"
}
tensors() { # FILE PATTERN: the names and bytes of the tensors that match, as one number
	pmerge --pick "$2" -o part.params "$1" && cksum <part.params
}

for k in 0 1 2 3; do
	status 0 "vgg11 trains with $k frozen blocks" dlaunch -n 1 -s 2 $vgg --freeze $k --steps 1
	is "$(sent out gradients 17)" "$((4 * $(weights $k)))" \
		"vgg11 with $k frozen blocks sends 4 bytes a step for each weight that learns"
	is "$(sent out weights 16)" "$((4 * $(weights $k)))" "vgg11 with $k frozen blocks receives as many bytes"
done
status 0 "two workers train two steps with frozen blocks" dlaunch -n 2 -s 2 $vgg --freeze 4 --steps 2 --save two
is "$(sent out gradients 17)" "$((2 * 2 * 4 * $(weights 4)))" "two workers send four times as much in two steps"
is "$(sent out state 16)" "$((4 * $(weights 4)))" "a checkpoint asks only for the state of weights that learn"

# The first weights depend on the seed alone, and frozen weights on nothing else.
$vgg --freeze 3 --freeze 'fc8_*' --steps 1 --save one >/dev/null 2>&1
$vgg --freeze 3 --freeze 'fc8_*' --steps 3 --save three >/dev/null 2>&1
a=one-0000-000001.safetensors b=three-0000-000003.safetensors
for p in 'conv[123]_*' 'fc8_*'; do
	is "$(tensors $a "$p")" "$(tensors $b "$p")" "$p is frozen: it keeps its first values"
done
for p in 'conv4_*' 'conv5_2*' 'fc6_*'; do
	ok "$p is not frozen: it changes" test "$(tensors $a "$p")" != "$(tensors $b "$p")"
done

# Batch norm within, interruption, asynchronous workers.
status 0 "a net with frozen batch norm trains on servers" dlaunch -n 1 -s 2 $small --freeze 2 --epochs 2 --save bn
status 0 "the net with frozen batch norm trains in one process" $small --freeze 2 --epochs 2 --save alone
ok "servers and one process give the same bytes" cmp bn-0002.safetensors alone-0002.safetensors
$small --freeze 2 --steps 1 --save first >/dev/null 2>&1
for p in '*stage1*_moving_*' 'stage1_*'; do
	is "$(tensors alone-0002.safetensors "$p")" "$(tensors first-0000-000001.safetensors "$p")" \
		"$p is frozen: it keeps its first values"
done
ok "stage2_*_moving_* is not frozen: it changes" test "$(tensors alone-0002.safetensors 'stage2_*_moving_*')" != \
	"$(tensors first-0000-000001.safetensors 'stage2_*_moving_*')"
status 0 "a job with frozen arrays stops within an epoch" dlaunch -n 1 -s 2 $small --freeze 2 --steps 13 --save stop
status 0 "the job with frozen arrays is resumed" \
	dlaunch -n 1 -s 1 $small --freeze 2 --epochs 2 --resume stop-0001-000003.safetensors --save stop
ok "the resumed job ends in the same bytes" cmp bn-0002.safetensors stop-0002.safetensors
status 0 "an asynchronous job trains with frozen arrays" \
	dlaunch -n 2 -s 2 $small --freeze 2 --epochs 2 --async --save async
learn=$($small --freeze 2 --print | sed -n 's/^frozen: .* \([0-9]*\) of \([0-9]*\) weights.*/\2 - \1/p')
is "$(sent out gradients 17)" "$((2 * 10 * 4 * (learn)))" \
	"the asynchronous job sends only what learns, in ten steps of each worker"
is "$(tensors async-0002.safetensors 'stage1_*')" "$(tensors first-0000-000001.safetensors 'stage1_*')" \
	"the asynchronous job keeps frozen arrays"

status 2 "--freeze refuses more blocks than the net has" $vgg --freeze 6
like err '^pworker: --freeze: cannot freeze 6 blocks: the net has 5; give fewer, or a pattern of names$' \
	"the error gives the number of blocks"
status 2 "--freeze refuses an unknown name" $vgg --freeze 'conv9*'
like err "^pworker: --freeze: the net has no array 'conv9\*'; --print lists its arrays$" "the error names the unknown array"
status 2 "--freeze refuses to freeze all arrays" $vgg --freeze '*'
like err '^pworker: --freeze: all arrays of the net are frozen' "the error says that all arrays are frozen"
status 0 "--print accepts --freeze" $vgg --freeze 2 --print
like out '^frozen: 4 of 22 arrays, 75648 of [0-9]* weights: conv1_1_weight to conv2_1_bias$' \
	"--print lists the frozen arrays"
done_testing
