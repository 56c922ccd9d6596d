#!/usr/bin/env bash
# pworker_lr_find.t - --lr-find tries growing rates until the loss diverges, proposes one, and plog draws the losses.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1

perl -e 'srand 1; for $i (0..299) { print chr($i % 10), join "", map { chr(int($i % 10 * 25 + rand 6)) } 1..3072 }' >data_batch_1.bin
im2rec -q data_batch_1.bin -o train.rec || exit 1
train="pworker --net mlp --shape 1x28x28 --data train.rec --batch 50"

status 0 "pworker --lr-find ends with status 0" $train --lr-find
cp out rows.tsv
like err '^pworker: the loss falls fastest at --lr [0-9.e-]+ and is lowest at [0-9.e-]+, before it diverges; try --lr [0-9.e-]+$' \
	"--lr-find proposes a rate"
ok "the head of the log has the epochs that the steps take" grep -qE '^# tally .* epochs=[0-9]{1,3} ' out
is "$(wc -l <err)" 1 "--lr-find prints one line, without messages about epochs and batches left out"
lr=$(sed 's/.* //' err)
ok "the rate is from 0.0001 to 0.5" awk -v lr="$lr" 'BEGIN { exit !(lr >= 0.0001 && lr <= 0.5) }'
status 0 "a run with the proposed rate trains" $train --lr "$lr" --epochs 6
ok "the loss falls at the proposed rate" \
	awk -F'\t' '$5 == "epoch" { if (first == "") first = $9; last = $9 } END { exit !(last < 0.8 * first) }' out
ok "rates grow by one factor from 0.00001, and end at the divergence" awk -F'\t' '
	$5 == "sweep" { if (n > 0 && ($12 / last - 1.0719) ^ 2 > 1e-6) bad = 1; last = $12; if (n++ == 0 && $12 - 1e-5 > 1e-9) bad = 1 }
	END { exit bad || n < 50 || n >= 200 }' rows.tsv
is "$(cut -f 5 rows.tsv | grep -cxE 'step|epoch|validation|save')" 0 "rows are of the event sweep"
status 0 "--steps sets the number of rates" $train --lr-find --steps 20
ok "the last of 20 rates is at most 10" awk -F'\t' '$5 == "sweep" { n++; last = $12 } END { exit n > 20 || last > 10.001 }' out

status 2 "--lr-find refuses --lr" $train --lr-find --lr 0.1
is "$(cat err)" "pworker: --lr-find: does not go with --lr" "the error names both"
status 2 "--lr-find refuses --save" $train --lr-find --save w
status 2 "--lr-find refuses --eval" pworker --eval w --data train.rec --lr-find
status 2 "--lr-find refuses several workers" $train --lr-find --worker 0/2 --servers 127.0.0.1:1 --plain
is "$(cat err)" "pworker: --lr-find: runs in one worker, not in 2" "the error has their number"
printf 'pworker --net mlp --shape 1x28x28 --batch 50 --lr 0.5,x0.1@3 --epochs 2 --save w --val train.rec --best --ema 0.9\n' >recipe
status 0 "a recipe's rate, checkpoints and validation give way" pworker @./recipe --data train.rec --lr-find --steps 20
is "$(ls w* 2>/dev/null)$(cut -f 5 out | grep -cxE 'validation|save')" 0 "nothing is saved"

plog rows.tsv >table
is "$(head -n 1 table | tr -s ' ' | sed 's/^ //; s/ $//')" "step train loss lr" "plog lists rates and losses by step"
if command -v gnuplot >/dev/null; then
	status 0 "plog draws loss over rate" plog --figures lr --plot rows.tsv
	like out '^ *learning rate *$' "the axis is the learning rate"
	like out '1e-05 .*0\.001 ' "the axis has decades"
	plog --plot rows.tsv >out
	is "$(grep -cx ' *step *' out)" 0 "there is no figure of the loss over steps"
else
	skip "plog draws loss over rate" "no gnuplot"
fi
done_testing
