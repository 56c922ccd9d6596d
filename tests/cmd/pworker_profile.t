#!/usr/bin/env bash
# pworker_profile.t - pworker --profile writes what each layer costs, and plog --profile prints it.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1

status 2 "--profile refuses an engine that does not measure its layers" pworker --net lenet --profile 1 --engine ref
is "$(cat err)" "pworker: --profile: engine ref does not measure its layers; use --engine cpu" \
	"--profile's error names the engine that does not measure its layers"
status 2 "--profile refuses several devices" pworker --net lenet --profile 1 --devices ref:0,ref:1
status 2 "--profile needs a step" pworker --net lenet --profile 0
if ! pworker --net lenet --print --batch 1 --engine cpu >/dev/null 2>&1; then
	skip "--profile profiles a net" "this build has no engine for processors"
	done_testing
	exit
fi
status 0 "--profile profiles a net" pworker --net lenet --batch 8 --profile 3 --engine cpu --threads 1
cp out lenet.tsv
like lenet.tsv '^# tally .* net=lenet engine=cpu dtype=f32 batch=8 steps=3 device=cpu:.*,_1_thread product_gflops=[0-9.]+ memory_gb' \
	"a profile's header states the peaks of the device"
for row in 'conv1	forward' 'conv1	weight' 'conv2	data' 'all	step'; do
	like lenet.tsv "^$row	[0-9.e-]+	" "a profile has a row for ${row/	/ }"
done
is "$(grep -c '^conv1	data' lenet.tsv)" 0 "a profile has no row for a gradient that is not computed"
is "$(awk -F'\t' '$1 == "all" { all = $3 } NF == 9 && $1 !~ /^(all|layer)$/ { sum += $3 }
	END { print (sum <= all && sum > all / 2) }' lenet.tsv)" 1 "the times of a profile's layers add up to at most the step's"
is "$(awk -F'\t' '$1 == "conv1" && $2 == "forward" { print ($5 > 0 && $6 > 0 && $8 > 0 && $9 > 0) }' lenet.tsv)" 1 \
	"a profile's row has rates and their shares of the peaks"
mkdir red blue && printf 'P6 28 28 255\n%2352s' | tee red/1.ppm >blue/1.ppm && im2rec -q -o two.rec red blue || exit 1
status 0 "--profile takes records" pworker --net mlp --batch 8 --profile 1 --engine cpu --threads 1 --data two.rec
like err '^pworker: two\.rec: there are names of 2 classes' "their classes are those of the net that it measures, as in training"
status 0 "plog --profile accepts a profile" plog --profile lenet.tsv
like out '^layer +direction +ms +of step ' "plog --profile prints a table"
status 0 "plog --profile accepts --csv" plog --profile --csv lenet.tsv
is "$(grep -c , out)" "$(grep -vc '^#' lenet.tsv)" "plog --profile --csv prints every row"
echo 'conv1	forward	fast	1					' >>lenet.tsv
status 1 "plog --profile exits with 1 if a row is malformed" plog --profile lenet.tsv
like err '^plog: lenet\.tsv: line [0-9]+: step_ms: .fast. is not a measure$' \
	"plog --profile's warning gives the line and the column"
status 2 "plog --profile refuses the options of epochs" plog --profile -c lenet.tsv
done_testing
