#!/usr/bin/env bash
# pworker_class_weights.t - --class-weights changes what a net learns of rare and of ignored classes.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1

# Two classes whose brightness overlaps, one with a tenth of the images.
perl -e 'srand 1; for $i (0..219) { $c = $i % 11 == 0; print chr($c), chr(120 + 20 * $c + int rand 60) x 3072 }' >data_batch_1.bin
im2rec -q data_batch_1.bin -o a.rec && printf 'often\nseldom\n' >a.labels || exit 1
train="pworker --net mlp --shape 1x28x28 --widths 8 --classes 2 --data a.rec --batch 22 --lr 0.05"
# recall WEIGHTS-FILE CLASS
recall() { pworker --eval "$1" --data a.rec --confusion | awk -F'\t' -v c="$2" '$1 == c { print $5; exit }'; }

status 0 "pworker trains without weights" $train --epochs 10 --save plain
status 0 "--class-weights balanced trains" $train --epochs 10 --class-weights balanced --save even
ok "balanced weights find more of the rare class" \
	awk -v a="$(recall plain-0010.safetensors seldom)" -v b="$(recall even-0010.safetensors seldom)" 'BEGIN { exit !(b > a + 0.3) }'
status 0 "--class-weights takes names" $train --epochs 10 --class-weights often=0.55,seldom=5.5 --save named
ok "the balanced weights are these" cmp even-0010.safetensors named-0010.safetensors
status 0 "--class-weights takes numbers" $train --epochs 10 --class-weights 0=1,1=1 --save ones
ok "weights of 1 change no byte" cmp plain-0010.safetensors ones-0010.safetensors
status 0 "a class of weight 0 teaches nothing" $train --epochs 10 --class-weights often=0 --save zero
is "$(recall zero-0010.safetensors often)" 0.000000 "a class of weight 0 is never predicted"
status 0 "two micro-batches have the same weights" $train --batch 11 --accumulate 2 --epochs 10 --class-weights balanced --save half
ok "two micro-batches learn the same within rounding" pmerge --diff --tolerance 1e-4 even-0010.safetensors half-0010.safetensors
status 0 "--val counts all samples alike" $train --epochs 1 --val a.rec --class-weights often=0 --save v
is "$(pworker --eval v-0001.safetensors --data a.rec --batch 22 | sed -n 2p | cut -f 2)" \
	"$(awk -F'\t' '$5 == "validation" { print $9 }' out)" "the loss of --val is that of --eval"

status 2 "an unknown class is refused" $train --class-weights cat=2
is "$(cat err)" "pworker: --class-weights: 'cat' is neither a class by name, such as often, nor a number below 2" "the error names it"
status 2 "another word is refused" $train --class-weights even
is "$(cat err)" "pworker: --class-weights: 'even' is neither balanced nor CLASS=W,..." "the error has what there is"
status 2 "a pipe cannot be counted" sh -c "cat a.rec | $train --data - --class-weights balanced"
status 2 "--eval has no weights" pworker --eval plain-0010.safetensors --data a.rec --class-weights 0=1
done_testing
