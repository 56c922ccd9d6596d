#!/usr/bin/env bash
# pworker_keep.t - --keep, --best and --patience: which checkpoints stay, when a run ends, and resumed runs.
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

status 0 "pworker trains five epochs with --save" $train --lr 0.01 --epochs 5 --save a
is "$(echo a-*)" "a-0001.safetensors a-0002.safetensors a-0003.safetensors a-0004.safetensors a-0005.safetensors" \
	"--save writes a checkpoint after each epoch"
is "$(awk -F'\t' '$5 == "save"' "$T/out" | wc -l)" 5 "the log has a row for each checkpoint"
touch b-0099.safetensors b-notes.safetensors
status 0 "pworker trains five epochs with --keep 2" $train --lr 0.01 --epochs 5 --save b --keep 2 --best
cp "$T/out" log
is "$(echo b-0*)" "b-0004.safetensors b-0005.safetensors b-0099.safetensors" \
	"--keep 2 removes all but the two newest, and none of another run"
ok "--keep leaves other files" test -e b-notes.safetensors
weights() { pmerge --diff "$1" "$2" >/dev/null 2>&1; }
ok "--keep changes no weights" weights a-0005.safetensors b-0005.safetensors
n=$(printf '%04d' $(($(best log) + 1)))
ok "--best keeps the epoch of the best validation" weights b-best.safetensors "a-$n.safetensors"
ok "--best reports the best epoch" grep -q "epoch $(best log) is the best so far: validation accuracy" "$T/err"
ok "--keep and --best leave no temporary file" sh -c '! ls ./*.tmp 2>/dev/null'

status 0 "pworker trains with --patience 3 and rate 0" $train --lr 0 --epochs 50 --save p --patience 3
is "$(awk -F'\t' '$5 == "validation" { print $6 }' "$T/out" | tail -n 1)" 3 "--patience 3 ends the run after three more epochs"
is "$(awk -F'\t' '$5 == "validation" { print $6 }' "$T/out" | tail -n 1)" "$(late "$T/out" 3)" \
	"--patience 3 ends the run where the log's accuracies say"
like "$T/err" '^pworker: ends: 3 epochs were no better than epoch 0, validation accuracy' "a run that --patience ends reports why"
is "$(ls p-0*.safetensors | wc -l)" 4 "the last epoch before --patience ends a run has a checkpoint"
status 0 "a run whose patience is spent is resumed" $train --lr 0 --epochs 50 --save p --patience 3 --resume-last
ok "a resumed run without patience left runs no further epoch" test "$(grep -c '	validation	' "$T/out")" = 0
like "$T/err" '^pworker: ends: 3 epochs were no better than epoch 0' "a resumed run without patience left reports why it ends"
status 0 "two workers resume a run whose patience is spent" \
	timeout 300 dlaunch -n 2 -s 1 $train --lr 0 --epochs 50 --save p --patience 3 --resume-last
ok "two workers without patience left run no further epoch" test "$(grep -c '	validation	' "$T/out")" = 0
status 0 "--patience 5 resumes a run that --patience 3 ended" $train --lr 0 --epochs 50 --save p --patience 5 --resume-last
is "$(grep -c '	validation	' "$T/out")" 2 "--patience 5 runs two epochs more than --patience 3"
for mode in "" --async; do
	status 0 "two workers train with --patience 2${mode:+ $mode}" \
		timeout 300 dlaunch -n 2 -s 1 $train --lr 0 --epochs 5000 --patience 2 --save w $mode
	like "$T/err" '^worker 0: pworker: ends: 2 epochs were no better' \
		"worker 0 reports that --patience 2${mode:+ $mode} ends both"
	rm -f w-*
done
status 0 "pworker trains two epochs with --patience 3" $train --lr 0 --epochs 2 --save r --patience 3 --best
status 0 "a run with --patience and --best is resumed" $train --lr 0 --epochs 50 --save r --patience 3 --best --resume-last
is "$(awk -F'\t' '$5 == "validation" { print $6 }' "$T/out" | tail -n 1)" 3 \
	"a resumed run counts --patience from the best epoch before"
status 0 "pworker trains three epochs with --best and --keep 1" $train --lr 0.01 --epochs 3 --save s --best --keep 1
status 0 "a run with --best and --keep 1 is resumed" $train --lr 0.01 --epochs 5 --save s --best --keep 1 --resume-last
ok "a run resumed with --keep 1 ends in the same weights" weights s-0005.safetensors a-0005.safetensors
ok "a run resumed with --best has the same best epoch" weights s-best.safetensors b-best.safetensors

# Accuracies of noise go up and down.  Each best epoch after the first cannot be written: its name is that of a directory.
perl -e 'srand 2; for (0..59) { print chr(int rand 10), join "", map { chr(int rand 256) } 1..3072 }' >c/data_batch_1.bin
im2rec c/data_batch_1.bin -o noise.rec || exit 1
noisy="${train/--val train.rec/--val noise.rec} --lr 0.01 --epochs 20 --save u --best"
status 0 "pworker trains twenty epochs with validations of noise" $noisy --log log
blocked=$(awk -F'\t' '$5 == "validation" && $10 > a { a = $10; if ($6 > 0) printf "u-%04d.safetensors ", $6 + 1 }' log)
rm u-*
mkdir $blocked
status 1 "a run with --best goes on without its best epochs" $noisy --log again
is "$(cut -f 5,6,10 again | grep '^validation')" "$(cut -f 5,6,10 log | grep '^validation')" "both runs have the same accuracies"
is "$(grep -c '^pworker: no checkpoint: .*: Is a directory$' "$T/err")" "$(wc -w <<<"$blocked")" "the run reports each once"
# The first of the highest accuracy among the others.
n=$(awk -F'\t' -v no="$blocked" '$5 == "validation" && !index(no, sprintf("u-%04d.", $6 + 1)) && (b == "" || $10 > a) {
	a = $10; b = $6
} END { print b }' log)
like "$T/err" "^pworker: epoch $n is the best .*: validation accuracy" "the best of the others is reported"
ok "--best keeps the best of the others" test u-best.safetensors -ef "$(printf 'u-%04d.safetensors' $((n + 1)))"

# A run that is killed at any moment leaves a newest checkpoint that is complete.
for i in 1 2 3 4 5 6; do
	$train --lr 0.01 --epochs 1000000 --save k --keep 1 >rows 2>/dev/null & pid=$!
	while ! grep -q '	save	' rows 2>/dev/null; do kill -0 $pid || break; done
	perl -e 'select undef, undef, undef, 0.01 * $ARGV[0]' "$i"
	kill -9 $pid
	wait $pid 2>/dev/null
	last=$(ls k-0*.safetensors | tail -n 1)
	pmerge --verify "$last" >/dev/null 2>&1 || echo "$last" >>broken
	rm -f k-* rows
done
ok "the newest checkpoint of a killed run is complete" test ! -e broken

status 2 "--keep needs --save" $train --keep 2
status 2 "--best needs --val" pworker --net mlp --shape 3x28x28 --data train.rec --save q --best
status 2 "--patience needs --val" $train --patience 0
mkdir gone
$train --lr 0.01 --epochs 1000000 --save gone/w >rows 2>err & pid=$!
while ! grep -q '	save	' rows 2>/dev/null; do kill -0 $pid || break; done
mv gone went
while ! grep -q '^pworker: no checkpoint' err; do kill -0 $pid || break; done
like err '^pworker: no checkpoint: gone/w' "the warning about a missing directory names the checkpoint"
mkdir gone
while ! ls gone/*.safetensors >/dev/null 2>&1; do kill -0 $pid || break; done
kill -TERM $pid
wait $pid
is $? 143 "a run goes on while the directory of its checkpoints is gone"
ok "the run writes checkpoints when the directory is back" sh -c 'ls gone/w-*.safetensors'
for wrong in "--cut-copies 1:needs --save" "--save x --cut-copies 1:1: the job has 1 worker" \
	"--save x --cut-copies 1 --cut 0:there are none with --cut 0" "--save x --cut-copies 1 --slack 2:needs a synchronous job"; do
	# shellcheck disable=SC2086
	status 2 "${wrong%%:*} is refused" $train ${wrong%%:*}
	like "$T/err" "^pworker: --cut-copies: ${wrong#*:}" "${wrong%%:*}: the line says why"
done
# What cannot be removed does not undo what was written.
mkdir -p k-0000-000001.safetensors/in
status 1 "a run that cannot remove an old checkpoint ends with status 1" $train --lr 0.01 --epochs 3 --save k --keep 1 --best
is "$(grep -c '	save	' "$T/out")" 3 "the log has a row for each checkpoint that was written"
ok "the newest checkpoint is there" test -s k-0003.safetensors
ok "the best checkpoint is there" test -s k-best.safetensors
is "$(grep -c '^pworker: cannot remove an older checkpoint: k-0000-000001\.safetensors: .*irectory' "$T/err")" 3 \
	"a line for each checkpoint names what was not removed"
is "$(grep -c 'no checkpoint' "$T/err")" 0 "no line says that there is no checkpoint"

# A run on a pipe continues in the epoch of its checkpoint.
status 0 "three epochs are trained" $train --lr 0.01,x0.1@2 --epochs 3 --save s
for epoch in 2 3; do
	status 0 "a pipe is read in epoch $epoch" \
		sh -c "cat train.rec | pworker --data - --batch 16 --lr 0.01,x0.1@2 --resume s-000$epoch.safetensors --save s"
	ok "the pipe's checkpoint has the number $epoch" test -s s-000$epoch-000004.safetensors
	is "$(awk -F '\t' '$1 == "time_s" { for (i = 1; i <= NF; i++) at[$i] = i }
		$at["event"] == "epoch" { print $at["epoch"], $at["lr"] + 0 }' out)" \
		"$epoch 0.001" "a pipe has the rate of epoch $epoch"
done

status 0 "a run with a number in its name" $train --lr 0.01 --epochs 1 --save t-7
status 0 "a run whose name is the start of another's resumes" $train --lr 0.01 --epochs 2 --save t --resume-last
like "$T/err" '^pworker: resumes from the beginning: there is no checkpoint yet$' "a run takes no checkpoint of another with a longer name"
done_testing
