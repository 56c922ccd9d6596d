#!/usr/bin/env bash
# pworker_keep.t - checkpoints that stay, the best, and runs that end early; each resumed to the same bits.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1

mkdir c
perl -e 'srand 1; for $i (0..59) { print chr($i % 10), join "", map { chr(int($i % 10 * 25 + rand 6)) } 1..3072 }' >c/data_batch_1.bin
im2rec c/data_batch_1.bin -o train.rec || exit 1
train="pworker --net mlp --shape 3x28x28 --data train.rec --val train.rec --batch 16 --scale 0.00390625"
# The best epoch of a log: the first of the highest accuracy; and the first epoch at which N were no better.
best() { awk -F'\t' '$5 == "validation" && (b == "" || $10 > a) { a = $10; b = $6 } END { print b }' "$1"; }
late() {
	awk -F'\t' -v n="$2" '$5 == "validation" {
		if (b == "" || $10 > a) { a = $10; b = $6 } else if ($6 - b >= n) { print $6; exit }
	}' "$1"
}

status 0 "all are kept unless said otherwise" $train --lr 0.01 --epochs 5 --save a
is "$(echo a-*)" "a-0001.safetensors a-0002.safetensors a-0003.safetensors a-0004.safetensors a-0005.safetensors" "... of each epoch"
is "$(awk -F'\t' '$5 == "save"' "$T/out" | wc -l)" 5 "... a row each"
touch b-0099.safetensors b-notes.safetensors
status 0 "two are kept" $train --lr 0.01 --epochs 5 --save b --keep 2 --best
cp "$T/out" log
is "$(echo b-0*)" "b-0004.safetensors b-0005.safetensors b-0099.safetensors" "... the newest; later ones of another run stay"
ok "... and what is no checkpoint" test -e b-notes.safetensors
weights() { pmerge --diff "$1" "$2" >/dev/null 2>&1; }
ok "... with the same weights" weights a-0005.safetensors b-0005.safetensors
n=$(printf '%04d' $(($(best log) + 1)))
ok "the best is the epoch of the best validation" weights b-best.safetensors "a-$n.safetensors"
ok "... and says so" grep -q "epoch $(best log) is the best so far: validation accuracy" "$T/err"
ok "no temporary file is left" sh -c '! ls ./*.tmp 2>/dev/null'

status 0 "a run that does not get better" $train --lr 0 --epochs 50 --save p --patience 3
is "$(awk -F'\t' '$5 == "validation" { print $6 }' "$T/out" | tail -n 1)" 3 "... ends after its patience"
is "$(awk -F'\t' '$5 == "validation" { print $6 }' "$T/out" | tail -n 1)" "$(late "$T/out" 3)" "... as computed from its log"
like "$T/err" '^pworker: ends: 3 epochs were no better than epoch 0, validation accuracy' "... and says why"
is "$(ls p-0*.safetensors | wc -l)" 4 "... with its last checkpoint"
status 0 "resumed" $train --lr 0 --epochs 50 --save p --patience 3 --resume-last
ok "... it has no epoch more" test "$(grep -c '	validation	' "$T/out")" = 0
like "$T/err" '^pworker: ends: 3 epochs were no better than epoch 0' "... and says why again"
status 0 "... by two workers" timeout 300 dlaunch -n 2 -s 1 $train --lr 0 --epochs 50 --save p --patience 3 --resume-last
ok "... has none either" test "$(grep -c '	validation	' "$T/out")" = 0
status 0 "... with more patience" $train --lr 0 --epochs 50 --save p --patience 5 --resume-last
is "$(grep -c '	validation	' "$T/out")" 2 "... has two"
for mode in "" --async; do
	status 0 "two workers${mode:+, $mode}" timeout 300 dlaunch -n 2 -s 1 $train --lr 0 --epochs 5000 --patience 2 --save w $mode
	like "$T/err" '^worker 0: pworker: ends: 2 epochs were no better' "... end together"
	rm -f w-*
done
status 0 "half of it" $train --lr 0 --epochs 2 --save r --patience 3 --best
status 0 "resumed" $train --lr 0 --epochs 50 --save r --patience 3 --best --resume-last
is "$(awk -F'\t' '$5 == "validation" { print $6 }' "$T/out" | tail -n 1)" 3 "... it remembers what was best"
status 0 "the other way" $train --lr 0.01 --epochs 3 --save s --best --keep 1
status 0 "... resumed" $train --lr 0.01 --epochs 5 --save s --best --keep 1 --resume-last
ok "... gives the same bits" weights s-0005.safetensors a-0005.safetensors
ok "... and the same best" weights s-best.safetensors b-best.safetensors

# Killed at any moment: the last complete one is there, whole, and what went on from it comes to the same.
for i in 1 2 3 4 5 6; do
	$train --lr 0.01 --epochs 1000000 --save k --keep 1 >rows 2>/dev/null & pid=$!
	while ! grep -q '	save	' rows 2>/dev/null; do :; done
	perl -e 'select undef, undef, undef, 0.01 * $ARGV[0]' "$i"
	kill -9 $pid
	wait $pid 2>/dev/null
	last=$(ls k-0*.safetensors | tail -n 1)
	pmerge --verify "$last" >/dev/null 2>&1 || echo "$last" >>broken
	rm -f k-* rows
done
ok "killed, the last one is whole" test ! -e broken

status 2 "--keep without --save" $train --keep 2
status 2 "--best without --val" pworker --net mlp --shape 3x28x28 --data train.rec --save q --best
status 2 "--patience of none" $train --patience 0
mkdir gone
$train --lr 0.01 --epochs 1000000 --save gone/w >rows 2>err & pid=$!
while ! grep -q '	save	' rows 2>/dev/null; do :; done
mv gone went
wait $pid
is $? 1 "a place that goes away ends the run"
like err '^pworker: .*gone/w' "... which names it"
done_testing
