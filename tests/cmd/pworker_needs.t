#!/usr/bin/env bash
# pworker_needs.t - an option without effect is refused in one line; those of a recipe are ignored.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1

perl -e 'srand 1; for $i (0..29) { print chr($i % 10), join "", map { chr(int($i % 10 * 25 + rand 6)) } 1..3072 }' >data_batch_1.bin
im2rec data_batch_1.bin -o a.rec || exit 1
train="pworker --net mlp --shape 3x28x28 --data a.rec --batch 10 --lr 0.01 --scale 0.00390625"
$train --epochs 1 --save w >/dev/null 2>&1 || exit 1
w=w-0001.safetensors
: >key
alone() { # OPTION[ VALUE] WHY COMMAND...
	"${@:3}" $1 >out 2>err </dev/null
	[ "$? $(cat err)" = "2 pworker: ${1%% *}: $2" ] || echo "$1: $(cat err)"
}
views="needs --val, --eval or --predict" shuffled="does not go with --no-shuffle"
{
	alone "--top 2" "needs --predict" $train
	alone "--top 2" "needs --predict" pworker --eval $w --data a.rec
	alone "--shift 2" "$views" $train
	alone "--flip" "$views" $train
	alone "--flip" "$views" pworker --statistics $w --data a.rec
	alone "--no-average" "needs --eval, --predict or --statistics" $train
	alone "--random-area 0.1,1" "needs --rand-resized-crop" $train
	border="needs --pad without --pad-reflect, or an option that rotates, shears or bounds images"
	alone "--fill-value 1" "$border" $train
	alone "--fill-value 1" "$border" $train --pad 2 --pad-reflect
	alone "--pad-reflect" "needs --pad" $train
	alone "--mean-rgb 9" "has no effect with --mean, which subtracts an image" $train --mean m.bin
	alone "--max-rotate-angle 5" "does not go with --rotate" $train --rotate 90
	alone "--shuffle-buffer 5" "$shuffled" $train --no-shuffle
	alone "--data-key-file key" "needs --data or --val HOST:PORT" $train
	alone "--start-rename a=b" "needs --start, or --net with --eval, --predict or --statistics" $train
	alone "--start-rename a=b" "needs --start, or --net with --eval, --predict or --statistics" pworker --eval $w --data a.rec
	alone "--loss softmax" "needs --net if it is an option of a net; pworker has no such option" pworker --eval $w --data a.rec
	alone "--classes 10" "needs --net" pworker --eval $w --data a.rec
	alone "--shape 3x28x28" "needs --net" pworker --eval $w --data a.rec
	alone "--label-at 0" "needs training, --eval or --predict" pworker --statistics $w --data a.rec
	alone "--confusion" "needs --eval" $train
	alone "--confusion" "needs --eval" pworker --predict $w --data a.rec
	alone "--steps 1" "needs training or --statistics" pworker --eval $w --data a.rec
	alone "--drop-last" "does not go with a pipe, which can be read only once" ${train/a.rec/-} < <(cat a.rec)
	alone "--cache ram:1" "does not go with a pipe, which can be read only once" ${train/a.rec/-} < <(cat a.rec)
	net="pworker --net mlp"
	for option in "--log x" "--trace x" "--frequent 2" "--log-style mxnet" "--profile 1" "--lr-find"; do
		alone "$option" "has no effect with --print, which starts no run" $net --print
	done
	for option in "--threads 1" "--engine cpu" "--devices cpu:0" "--dtype bf16" "--deterministic"; do
		alone "$option" "has no effect with --print without --batch" $net --print
	done
	unused="runs passes on random samples, where"
	alone "--profile 1" "$unused --lr has no effect" $net --lr 0.1
	alone "--profile 1" "$unused --optimizer, --epochs have no effect" $net --optimizer adam --epochs 1
	for mode in eval predict statistics; do
		for option in "--lr 0.1" "--save x" "--val a.rec" "--print" "--epochs 1" "--freeze 1" "--momentum 0" "--trace x" \
			"--drop-last"; do
			alone "$option" "is for training, and does not go with --$mode" pworker --$mode $w --data a.rec
		done
	done
} >wrong
is "$(cat wrong)" "" "an option without effect is refused with what it needs"
status 2 "--eval and --predict together are refused" pworker --eval $w --predict $w --data a.rec
like "$T/err" '^pworker: more than one of --eval, --predict and --statistics$' "the error names the three modes"

status 0 "--print takes the options of a run" $train --print --save x --epochs 1
printf 'pworker --net mlp --shape 3x28x28 --batch 10 --lr 0.01 --scale 0.00390625 --epochs 1 --flip --top 2 --fill-value 7\n' >all
status 0 "options of a recipe that have no effect are ignored" pworker @./all --data a.rec
status 2 "an option beside the recipe is refused" pworker @./all --data a.rec --shift 1
status 0 "a recipe's training options are ignored by --eval" pworker @./all --eval $w --data a.rec
status 0 "a recipe's training options are ignored by --predict before it" pworker --predict $w @./all --data a.rec
is "$(wc -l <"$T/out")" 61 "--top of the recipe applies to --predict"
status 0 "a recipe's training options are ignored by --print" pworker @./all --print
done_testing
