#!/usr/bin/env bash
# pworker_loss.t - --loss sigmoid learns several labels an image, --loss squared values; --weight-at weights records.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1

# Grey images with a bright bar for each of three labels, and a brightness and a position to predict.
perl -e 'srand 1; open L, ">", "labels.lst"; open V, ">", "values.lst"; open C, ">", "weights.lst";
	for $i (0..119) {
		@on = map { int rand 2 } 0..2; $level = int rand 100; $row = int rand 24;
		open F, ">", "$i.pgm"; print F "P5 28 28 255\n";
		for $y (0..27) { for (0..27) {
			print F chr(int(rand 40) + $level / 2 + ($on[int($y / 10)] ? 130 : 0)) } }
		print L join("\t", $i, @on, "$i.pgm"), "\n";
		print V join("\t", $i, $on[0] + $on[1], $level / 100, "$i.pgm"), "\n";
		print C join("\t", $i, $on[0], $on[0] ? 5.5 : 0.55, 1, "$i.pgm"), "\n";
	}'
im2rec -q -o labels.rec labels.lst . && im2rec -q -o values.rec values.lst . && im2rec -q -o weights.rec weights.lst . || exit 1
train="pworker --net mlp --widths 16 --batch 20 --lr 0.05"
values="pworker --net mlp --widths 16 --batch 20 --loss squared --data values.rec"
column() { awk -F'\t' -v c="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == c) at = i } NR == 2 { print $at }' "${2:-out}"; }
above() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }' || { echo "$1 is not above $2"; return 1; }; }

status 0 "--loss sigmoid trains" $train --loss sigmoid --data labels.rec --val labels.rec --epochs 30 --save l
w=l-0030.safetensors
like err "Validation-accuracy=0\.9|Validation-accuracy=1\." "the net has learned all labels of most images"
cp out l.tsv
is "$(awk -F'\t' '$5 == "validation" { print $22 == "" }' l.tsv | sort -u)" 1 "the log has no top-5 accuracy"
status 0 "--eval finds the loss in the weights" pworker --eval $w --data labels.rec --confusion
is "$(head -n 1 out)" "samples	loss	accuracy	label_accuracy	f1	average_precision" "--eval prints the figures of labels"
cp out figures
pworker --predict $w --data labels.rec --top 3 >rows 2>err
is "$(head -n 1 rows)" "id	class	probability" "--predict prints a probability for each label"
# The same figures from the rows of --predict.
awk -F'\t' 'NR == FNR { for (k = 0; k < 3; k++) t[$1, k] = $(k + 2); next }
	FNR > 1 { print $2 "\t" $3 "\t" t[$1, $2] "\t" $1 }' labels.lst rows | sort -t'	' -k1,1n -k2,2gr >sorted
awk -F'\t' '{ all[$1] += $3; n[$1]++; guess[$1] += $2 >= 0.5; both[$1] += $2 >= 0.5 && $3; right += ($2 >= 0.5) == $3
	wrong[$4] += ($2 >= 0.5) != $3; if ($3) { found[$1]++; ap[$1] += found[$1] / n[$1] } }
	END { for (k = 0; k < 3; k++) { f += 2 * both[k] / (all[k] + guess[k]) / 3; p += ap[k] / all[k] / 3 }
	for (i in wrong) { samples++; whole += wrong[i] == 0 }
	printf "%d %.4f %.4f %.4f %.4f\n", samples, whole / samples, right / samples / 3, f, p }' sorted >want
is "$(sed -n 2p figures | awk -F'\t' '{ printf "%d %.4f %.4f %.4f %.4f\n", $1, $3, $4, $5, $6 }')" "$(cat want)" \
	"accuracies, F1 and average precision are those of the rows of --predict"
is "$(sed -n 4p figures)" "label	samples	predicted	precision	recall	f1	average_precision" \
	"--confusion prints a table of the labels"
is "$(sed -n '5,$p' figures | cut -f 2 | tr '\n' ' ')" "$(for k in 2 3 4; do cut -f $k labels.lst | grep -c 1; done | tr '\n' ' ')" \
	"the table has the samples of each label"
is "$(column loss figures | cut -c 1-7)" "$(awk -F'\t' '$5 == "validation" { l = $9 } END { printf "%.6f\n", l }' l.tsv | cut -c 1-7)" \
	"the loss is the last one of the log's validation"

status 0 "--flip averages the probabilities" pworker --eval $w --data labels.rec --flip
ok "--flip finds the labels" above "$(column average_precision)" 0.95
status 0 "--cache ram trains" $train --loss sigmoid --data labels.rec --epochs 3 --cache ram --save c
status 0 "a run without --cache trains" $train --loss sigmoid --data labels.rec --epochs 3 --save d
ok "--cache ram changes no byte" cmp c-0003.safetensors d-0003.safetensors
status 0 "two micro-batches train" $train --loss sigmoid --data labels.rec --batch 10 --accumulate 2 --epochs 3 --save a
ok "two micro-batches give the same weights within rounding" pmerge --diff --tolerance 1e-5 a-0003.safetensors d-0003.safetensors
status 0 "two workers train" dlaunch -n 2 -s 1 $train --loss sigmoid --data labels.rec --batch 10 --epochs 3 --save b
ok "two workers give the bytes of two micro-batches" pmerge --diff a-0003.safetensors b-0003.safetensors
status 0 "--class-weights takes labels" $train --loss sigmoid --data labels.rec --epochs 3 --class-weights 0=1,1=1,2=1 --save e
ok "weights of 1 change no byte" cmp d-0003.safetensors e-0003.safetensors
probable() { # WEIGHT: the mean probability of label 1 by a net that learned with that weight
	$train --loss sigmoid --data labels.rec --epochs 5 --class-weights "1=$1" --save f >/dev/null 2>&1
	pworker --predict f-0005.safetensors --data labels.rec --top 3 | awk -F'\t' '$2 == "1" { p += $3; n++ } END { print p / n }'
}
ok "a label is the more probable the larger its weight" above "$(probable 20)" "$(probable 0.05)"
status 0 "balanced weights train labels" $train --loss sigmoid --data labels.rec --epochs 3 --class-weights balanced --save g
status 0 "weights by the samples without a label train labels" $train --loss sigmoid --data labels.rec --epochs 3 --save h \
	--class-weights "$(for k in 0 1 2; do cut -f $((k + 2)) labels.lst |
		awk -v k=$k '{ n += $1 } END { printf "%d=%.9g\n", k, (NR - n) / n }'; done | paste -sd,)"
ok "the balanced weights are these weights" cmp g-0003.safetensors h-0003.safetensors
status 0 "samples are mixed" $train --loss sigmoid --data labels.rec --mixup 0.4 --epochs 3
status 0 "the reference engine trains" $train --loss sigmoid --data labels.rec --engine ref --epochs 3 --save r
ok "the reference engine gives the same weights within rounding" pmerge --diff --tolerance 1e-4 r-0003.safetensors d-0003.safetensors
status 0 "pmerge writes a model" pmerge -o l.onnx $w
ok "the last node of the model is a sigmoid" grep -qa Sigmoid l.onnx

status 0 "--loss squared trains" $values --val values.rec --best --epochs 30 --save v
like err "Validation-mse=" "the line for people has the mean squared error"
like err "best so far: validation loss" "the best epoch is that of the lowest loss"
status 0 "--eval prints the errors of values" pworker --eval v-0030.safetensors --data values.rec
is "$(head -n 1 out)" "samples	loss	rmse	mae" "the errors are the root of squares and the absolute one"
ok "the values are learned with the default rate" above 0.35 "$(column rmse)"
cp out figures
pworker --predict v-0030.safetensors --data values.rec >rows 2>err
is "$(head -n 1 rows)" "id	output	value" "--predict prints a row for each value"
is "$(awk -F'\t' 'NR == FNR { for (k = 0; k < 2; k++) t[$1, k] = $(k + 2); next }
	FNR > 1 { d = $3 - t[$1, $2]; n++; s += d * d; a += d < 0 ? -d : d }
	END { printf "%.4f %.4f\n", sqrt(s / n), a / n }' values.lst rows)" \
	"$(printf '%.4f %.4f' "$(column rmse figures)" "$(column mae figures)")" "the errors are those of the rows of --predict"
status 0 "--label-at chooses one of the values" $values --label-at 1 --epochs 2 --save one
is "$(pworker --predict one-0002.safetensors 0.pgm | tail -n +2 | cut -f 1,2)" "0.pgm	0" "--predict needs no labels"

status 0 "--weight-at trains" $train --classes 2 --data weights.rec --weight-at 1 --epochs 3 --save w1
status 0 "--class-weights trains" $train --classes 2 --data weights.rec --class-weights 0=0.55,1=5.5 --epochs 3 --save w2
ok "the same weights give the same bytes" cmp w1-0003.safetensors w2-0003.safetensors
status 0 "weights of 1 train" $train --classes 2 --data weights.rec --weight-at 2 --epochs 3 --save w3
status 0 "no weights train" $train --classes 2 --data weights.rec --epochs 3 --save w4
ok "weights of 1 change no byte" cmp w3-0003.safetensors w4-0003.safetensors

refused() { # STATUS LINE COMMAND...
	status "$1" "refused: ${*:3}" "${@:3}"
	is "$(tail -n 1 err)" "pworker: $2" "the error says why"
}
refused 2 "--loss: 'hinge' is none of softmax, sigmoid and squared" $train --loss hinge --data labels.rec
refused 2 "labels.rec: records have 3 labels, and the net compares 5 outputs with labels; use --classes 3" \
	$train --loss sigmoid --classes 5 --data labels.rec
refused 2 "--class-weights: needs classes or labels, not --loss squared" $values --class-weights balanced
refused 2 "--confusion: needs classes or labels; this net predicts values" pworker --eval v-0030.safetensors --data values.rec --confusion
refused 2 "--top: needs probabilities; this net predicts values" pworker --predict v-0030.safetensors --data values.rec --top 2
refused 1 "d-0003.safetensors: holds the weights of another net; use --start for what fits" \
	$train --loss squared --data labels.rec --resume d-0003.safetensors --epochs 4
perl -e 'for $i (0..19) { print "$i\t", $i / 20, "\t$i.pgm\n" }' >tenths.lst
perl -e 'for $i (0..19) { print "$i\t", $i % 10, "\t$i.pgm\n" }' >classes.lst
im2rec -q -o tenths.rec tenths.lst . && im2rec -q -o classes.rec classes.lst .
refused 2 "tenths.rec: 19 of 20 records have labels that are not whole numbers, such as 0.95; --loss squared learns values" \
	$train --data tenths.rec
refused 2 "classes.rec: 16 of 20 records have labels above 1, up to 9, which --loss sigmoid does not learn; \
--loss softmax learns classes, squared values" \
	$train --loss sigmoid --data classes.rec
status 1 "labels that are no shares are left out" $train --loss sigmoid --data values.rec --epochs 1
like err "its label 0 is 2, not a number from 0 to 1, or -1" "the message names the label"

# A third of the labels is unknown.
awk -F'\t' -v OFS='\t' '{ for (k = 2; k <= 4; k++) if ((NR + k) % 3 == 0) $k = NR % 2 ? "-1" : "nan" } 1' labels.lst >some.lst
im2rec -q -o some.rec some.lst . || exit 1
status 0 "records with some unknown labels train" $train --loss sigmoid --data some.rec --epochs 40 --save s
is "$(awk -F'\t' '$5 == "epoch" { print $8 }' out | sort -u)" 120 "an epoch counts images with some unknown labels"
pworker --eval s-0040.safetensors --data labels.rec >out 2>err
ok "the net has learned the labels" above "$(column label_accuracy)" 0.9
status 0 "--eval takes records with unknown labels" pworker --eval s-0040.safetensors --data some.rec --confusion
pworker --predict s-0040.safetensors --data some.rec --top 3 2>err >rows
awk -F'\t' 'NR == FNR { for (k = 0; k < 3; k++) t[$1, k] = $(k + 2); next }
	FNR > 1 && t[$1, $2] != "nan" && t[$1, $2] >= 0 { n++; right += ($3 >= 0.5) == t[$1, $2] }
	END { printf "%.4f\n", right / n }' some.lst rows >want
is "$(column label_accuracy | cut -c 1-6)" "$(cat want)" "--eval counts the known labels"
awk -F'\t' -v OFS='\t' 'NR == 1 { $2 = $3 = $4 = -1 } 1' labels.lst >none.lst
im2rec -q -o none.rec none.lst . || exit 1
status 1 "an image none of whose labels is known is left out" $train --loss sigmoid --data none.rec --epochs 1
like err "none of its labels is known" "the line says why"
awk -F'\t' -v OFS='\t' 'NR % 4 == 0 { $2 = "nan" } 1' values.lst >gaps.lst
im2rec -q -o gaps.rec gaps.lst . || exit 1
status 0 "values may be unknown, too" ${values/values.rec/gaps.rec} --epochs 2
is "$(awk -F'\t' '$5 == "epoch" && $9 < 99 { print $8 }' out | sort -u)" 120 "their images are used, and the loss is finite"
awk -F'\t' -v OFS='\t' '{ $2 = $2 * 1e36 } 1' values.lst >huge.lst
im2rec -q -o huge.rec huge.lst . || exit 1
status 0 "pworker goes on after a validation whose loss is infinite" $values --val huge.rec --best --epochs 1 --save h
ok "an epoch with an infinite loss is not the best" [ ! -e h-best.safetensors ]
status 0 "pworker resumes the checkpoint of a run without a best epoch" \
	$values --val values.rec --best --epochs 2 --save h --resume h-0001.safetensors
ok "a later epoch becomes the best" [ h-best.safetensors -ef h-0002.safetensors ]
status 2 "a weight that the records lack is refused" $train --loss sigmoid --data labels.rec --weight-at 3
like err "it has 3 labels, and none at 3" "the error counts the labels"
done_testing
