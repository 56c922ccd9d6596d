#!/usr/bin/env bash
# whole.t - updates that need norms or whole arrays give the same bits with any number of servers and workers.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1
export OMP_NUM_THREADS=1

pictures images 60 1 && im2rec images >a.rec || exit 1
one() { pworker --net mlp --data a.rec --shape 3,32,32 --classes 10 --seed 5 --epochs 3 --batch 5 "$@"; }

for o in "sgd --clip-norm 0.5" "adamw --lr 0.002 --clip-norm 0.1" "lars --lr 1 --trust 0.02" "lars --clip-norm 0.3 --lr 2" \
	"muon --lr 0.02 --unit"; do
	n=${o%% *}${o//[^0-9]/}
	# shellcheck disable=SC2086
	status 0 "$o: one worker trains without servers" one --optimizer $o --accumulate 3 --save "$n"
	for s in 1 3; do
		# shellcheck disable=SC2086
		status 0 "$o: 3 workers train with $s servers" \
			dlaunch -n 3 -s "$s" pworker --net mlp --data "$T/a.rec" --shape 3,32,32 \
			--classes 10 --seed 5 --epochs 3 --batch 5 --optimizer $o --save "$T/$n.$s"
		ok "$o: 3 workers with $s servers give the same weights" \
			pmerge --diff "$n-0003.safetensors" "$n.$s-0003.safetensors"
	done
done
# A job that stops within an epoch resumes with the optimizer's state, the rate and the average of all servers.
for o in "lars --lr warmup:1:0.1,1,cosine:0.1@3 --trust 0.02 --ema 0.5" "muon --lr 0.02 --swa 1 --clip-norm 3"; do
	job() { # shellcheck disable=SC2086
		dlaunch -n 2 -s 2 pworker --net mlp --data "$T/a.rec" --shape 3,32,32 --classes 10 --seed 5 --epochs 3 --batch 5 \
			--optimizer $o --save "$@" >/dev/null 2>&1
	}
	ok "$o: a job of 2 workers and 2 servers exits with 0" job "$T/uncut"
	ok "$o: another job stops within an epoch" job "$T/cut" --steps 5
	set -- "$T"/cut-*-??????.safetensors
	ok "$o: the stopped job is resumed" job "$T/cut" --resume "$1"
	ok "$o: the resumed job ends in the same bytes" cmp uncut-0003.safetensors cut-0003.safetensors
	rm -f cut-*.safetensors
done
rates() { # ARGUMENTS...: the rates of 2 workers' steps
	dlaunch -n 2 -s 1 pworker --net mlp --data "$T/a.rec" --shape 3,32,32 --classes 10 --batch 10 --epochs 2 --frequent 1 "$@" \
		2>/dev/null | awk -F'\t' '$5 == "step" { printf "%g\n", $12 }' | sort -u | tr '\n' ' '
}
is "$(rates --lr 0.1)" "0.1 " "--lr is the rate of two workers"
is "$(rates --lr 0.1 --lr-scale linear)" "0.2 " "--lr-scale linear multiplies the rate by 2 workers"
is "$(rates --lr 0.1 --lr-scale sqrt)" "0.141421 " "--lr-scale sqrt multiplies the rate by the root of 2"
is "$(rates --lr warmup:2,0.3 --lr-scale linear)" "0.1 0.2 0.3 0.4 0.5 0.6 " "--lr-scale linear scales the warm-up, too"
is "$(rates --lr warmup:2:0.3,0.3 --lr-scale linear)" "0.35 0.4 0.45 0.5 0.55 0.6 " \
	"a warm-up may start at the rate of one worker"

dlaunch -n 2 -s 2 pworker --net mlp --data "$T/a.rec" --shape 3,32,32 --classes 10 --batch 10 --epochs 2 --slack 1 \
	--optimizer adam --save async >async.tsv 2>&1
# updates FILE: the number in a checkpoint.
updates() { head -c 4000 "$1" | grep -aEo '"updates": ?"[0-9]+"' | tr -dc 0-9; }
n=$(updates async-0002.safetensors)
ok "a checkpoint of a job with slack stores Adam's number of updates: $n" test "$n" -gt 6 -a "$n" -le 12
is "$(awk -F '\t' '$5 == "staleness" && $19 == "all" { print $4, $6 }' async.tsv | sort | tr '\n' ,)" "0 0,0 1,1 0,1 1," \
	"each worker logs how far behind its gradients were in each epoch"
ok "the bins of the staleness sum up to all gradients and their mean" awk -F '\t' '
	$5 == "staleness" && $19 == "all" { all[$4 $6] = $26; sum[$4 $6] = $26 * $27; if ($28 > $27 || $27 > $29) bad = 1 }
	$5 == "staleness" && $19 == "bin" { bin[$4 $6] += $26; of[$4 $6] += $26 * $28; if ($28 != $29 && $28 < 32) bad = 1 }
	END { for (i in all) if (all[i] != bin[i] || all[i] == 0 || (of[i] - sum[i]) ^ 2 > 0.01 * all[i] ^ 2) bad = 1; exit bad }' async.tsv
ok "plog draws its histogram for each worker" sh -c "plog --figures histogram --svg h.svg async.tsv &&
	grep -q '>worker 0<' h.svg && grep -q '>worker 1<' h.svg && grep -q 'updates behind' h.svg"
ok "plog draws the staleness" sh -c "plog --figures staleness --plot async.tsv | grep 'updates behind'"
dlaunch -n 2 -s 2 pworker --net mlp --data "$T/a.rec" --shape 3,32,32 --classes 10 --batch 10 --async --updates 31 \
	--save updates >updates.tsv 2>&1
is $? 0 "an asynchronous job with a number of steps of all workers ends with 0"
ok "all workers together do as many steps, and each at most one more" awk -F '\t' '
	$3 == "worker" && $5 == "step" { n++ } END { exit n < 31 || n > 33 }' updates.tsv
n=$(updates "$(ls -t updates-*.safetensors | head -n 1)")
ok "the last checkpoint has their number: $n" test "$n" -ge 31 -a "$n" -le 33
is "$(sed -n 's/^# tally.* rank=0 .* \(epochs=.*\) steps=.*/\1/p' updates.tsv)" "epochs=5 epoch_steps=3" \
	"the log has the epochs that they take"
status 2 "a synchronous job has no such number" pworker --net mlp --data a.rec --updates 31
done_testing
