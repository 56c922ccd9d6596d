#!/usr/bin/env bash
# whole.t - updates that need norms or whole arrays come to the same bits with any number of servers and workers.
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
	status 0 "$o: a worker alone" one --optimizer $o --accumulate 3 --save "$n"
	for s in 1 3; do
		# shellcheck disable=SC2086
		status 0 "... 3 workers and $s servers" dlaunch -n 3 -s "$s" pworker --net mlp --data "$T/a.rec" --shape 3,32,32 \
			--classes 10 --seed 5 --epochs 3 --batch 5 --optimizer $o --save "$T/$n.$s"
		ok "... compute the same" pmerge --diff "$n-0003.safetensors" "$n.$s-0003.safetensors"
	done
done
# A job that is cut within an epoch goes on with the optimizer's state, the rate and the average of all servers.
for o in "lars --lr warmup:1:0.1,1,cosine:0.1@3 --trust 0.02 --ema 0.5" "muon --lr 0.02 --swa 1 --clip-norm 3"; do
	job() { # shellcheck disable=SC2086
		dlaunch -n 2 -s 2 pworker --net mlp --data "$T/a.rec" --shape 3,32,32 --classes 10 --seed 5 --epochs 3 --batch 5 \
			--optimizer $o --save "$@" >/dev/null 2>&1
	}
	ok "$o: a job of 2 workers and 2 servers" job "$T/uncut"
	ok "... another, to a step within an epoch" job "$T/cut" --steps 5
	set -- "$T"/cut-*-??????.safetensors
	ok "... which goes on" job "$T/cut" --resume "$1"
	ok "... to the same bytes" cmp uncut-0003.safetensors cut-0003.safetensors
	rm -f cut-*.safetensors
done
rates() { # ARGUMENTS...: those of 2 workers' steps
	dlaunch -n 2 -s 1 pworker --net mlp --data "$T/a.rec" --shape 3,32,32 --classes 10 --batch 10 --epochs 2 --frequent 1 "$@" \
		2>/dev/null | awk -F'\t' '$5 == "step" { printf "%g\n", $12 }' | sort -u | tr '\n' ' '
}
is "$(rates --lr 0.1)" "0.1 " "a rate"
is "$(rates --lr 0.1 --lr-scale linear)" "0.2 " "... with 2 workers"
is "$(rates --lr 0.1 --lr-scale sqrt)" "0.141421 " "... their root"
is "$(rates --lr warmup:2,0.3 --lr-scale linear)" "0.1 0.2 0.3 0.4 0.5 0.6 " "... and the warm-up goes with it"
is "$(rates --lr warmup:2:0.3,0.3 --lr-scale linear)" "0.35 0.4 0.45 0.5 0.55 0.6 " "... from what is one worker's, if told to"

dlaunch -n 2 -s 2 pworker --net mlp --data "$T/a.rec" --shape 3,32,32 --classes 10 --batch 10 --epochs 2 --async \
	--optimizer adam --save async >/dev/null 2>&1
ok "an asynchronous checkpoint knows how many pushes Adam has seen" sh -c "head -c 4000 async-0002.safetensors |
	grep -Eo '\"updates\": ?\"[0-9]+\"' | grep -Eo '[0-9]+' | awk '{ exit !(\$1 > 12 && \$1 <= 24) }'"
done_testing
