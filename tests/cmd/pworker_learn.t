# pworker_learn.t - options of the optimizer and the rate: each has its effect, and a resumed run ends in the same bits.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1

pictures images 60 1 && im2rec images >a.rec || exit 1
train() { pworker --net lenet --variant bn --data a.rec --batch 20 --seed 5 "$@"; }
last() { awk -F'\t' '$5 == "epoch" { loss = $9 } END { print loss }' "$1"; }	# LOG: the last epoch's loss
falls() { awk -F'\t' '$5 == "epoch" { if (!n++) first = $9; loss = $9 } END { exit !(n > 1 && loss < first) }' "$1"; }

i=0
for o in "sgd --lr 0.05" "nesterov --lr 0.05" "adam --lr 0.002" "adamw --lr 0.002 --wd 0.05" "rmsprop --lr 0.002" \
	"rmsprop --lr 0.002 --momentum 0.5" "adam --lr 0.002 --l1 0.001 --clip 0.1" "sgd --lr 0.05 --clip-norm 0.5" \
	"descent --lr 0.1" "lars --lr 1 --trust 0.02" "muon --lr 0.02" "muon --lr 0.02 --unit --turns 3 --momentum 0.6" \
	"sgd --lr 0.04 --ema 0.5" "sgd --lr 0.045 --swa 1" "sgd --lr 0.05 --lookahead 2:0.5"; do
	i=$((i + 1))
	# shellcheck disable=SC2086
	status 0 "pworker trains with --optimizer $o" train --optimizer $o --epochs 4 --save "$i"
	cp "$T/out" "$i.tsv"
	ok "the loss falls with --optimizer $o" falls "$i.tsv"
	# shellcheck disable=SC2086
	train --optimizer $o --epochs 4 --steps 7 --save "part$i" >/dev/null 2>&1
	set -- part"$i"-0002-*.safetensors
	# shellcheck disable=SC2086
	status 0 "--resume accepts a run with --optimizer $o" train --optimizer $o --epochs 4 --resume "$1" --save "whole$i"
	ok "a run resumed with --optimizer $o ends in the same bytes" cmp "$i-0004.safetensors" "whole$i-0004.safetensors"
done
is "$(for k in $(seq $i); do last "$k.tsv"; done | sort -u | wc -l)" "$i" "each choice of optimizer ends in another loss"
pmerge --no-state 1-0004.safetensors >bare.safetensors
status 0 "--resume accepts a checkpoint without the optimizer's state" train --resume bare.safetensors --epochs 5
like "$T/err" "^pworker: the checkpoint has no optimizer state, which starts from zeros\$" \
	"--resume reports that the optimizer's state starts from zeros"
pmerge --no-state 3-0004.safetensors >bare.safetensors
status 2 "--resume refuses a checkpoint of --optimizer adam without its state" train --optimizer adam --resume bare.safetensors --epochs 5
like "$T/err" "has no optimizer state, which --optimizer adam needs; use --start\$" "the error suggests --start"
# The first update of a state of Adam changes a weight by the rate.
local="train --optimizer adam --lr 0.0001 --wd 0 --local-steps 1 --steps"
$local 12 --save early >/dev/null 2>&1
$local 13 --resume early-0004.safetensors --epochs 5 --save late >/dev/null 2>&1
pmerge --diff early-0004.safetensors late-0004-000001.safetensors >by
is "$(awk -F'\t' '/_weight/ { n++; far += $4 < 0.000098 || $4 > 0.000102 } END { print (n > 0), far + 0 }' by)" "1 0" \
	"local steps of a resumed run correct the bias of their own state"
status 0 "--resume accepts a checkpoint of --ema without it" train --resume 13-0004.safetensors --epochs 5
like "$T/err" "^pworker: resumes without the checkpoint's average of the weights, which --ema continues\$" \
	"--resume reports the average that the run does without"
train --optimizer descent --epochs 1 --save without >/dev/null 2>&1
is "$(pmerge --list without-0001.safetensors | grep -c ':momentum')" 0 "a checkpoint of --optimizer descent has no state"
status 0 "--resume accepts a checkpoint of --optimizer descent" train --optimizer descent --resume without-0001.safetensors --epochs 2
is "$(grep -c 'starts from zeros' "$T/err")" 0 "--resume with --optimizer descent speaks of no missing state"
status 2 "--resume refuses a checkpoint of --optimizer descent for another" train --resume without-0001.safetensors --epochs 2
like "$T/err" "was saved with --optimizer descent; resume with the same" "the error names its optimizer"
status 2 "--resume refuses another optimizer's state" train --optimizer adam --resume 2-0004.safetensors --epochs 5
like "$T/err" "^pworker: 2-0004\.safetensors: was saved with --optimizer nesterov; resume with the same, or use --start\$" \
	"--resume's error names the optimizer of the checkpoint"
for o in "--beta2 0.9" "--epsilon 0.1" "--momentum 0.5"; do
	# shellcheck disable=SC2086
	train --optimizer adam --lr 0.002 $o --epochs 4 >o.tsv 2>/dev/null
	ok "$o changes the loss of --optimizer adam" test "$(last o.tsv)" != "$(last 3.tsv)"
done

same() { pmerge --diff "$1" "$2" | grep -c "^$3	"; }	# FILE FILE ARRAY: 0 when that array is the same
train --lr 0.05 --steps 1 --save base >/dev/null 2>&1
train --lr 0.05 --steps 1 --save held --lr-mult 'fc1_*=0' --lr-mult 'conv1_weight=2' >/dev/null 2>&1
train --lr 1e-9 --steps 1 --save start >/dev/null 2>&1
b=base-0000-000001.safetensors h=held-0000-000001.safetensors s=start-0000-000001.safetensors
is "$(pmerge --diff --tolerance 1e-6 $h $s | grep -c '^fc1_weight	')" 0 "--lr-mult 0 keeps an array unchanged"
is "$(same $b $h conv2_weight) $(same $b $h conv1_weight)" "0 1" "--lr-mult 2 changes the step of its array and of no other"
train --lr 0.05 --steps 1 --save decay --wd 0.5 --wd-mult 'conv*=0' >/dev/null 2>&1
train --lr 0.05 --steps 1 --save none --wd 0 >/dev/null 2>&1
is "$(same decay-0000-000001.safetensors none-0000-000001.safetensors conv1_weight) $(same decay-0000-000001.safetensors \
	none-0000-000001.safetensors fc1_weight)" "0 1" "--wd-mult 0 exempts its arrays from decay, and no other"

status 0 "--lr accepts a warm-up with a linear fall" train --lr warmup:1,0.3,linear:0.1@4 --epochs 5 --frequent 1
is "$(awk -F'\t' '$5 == "step" { printf "%g ", $12 }' "$T/out")" \
	"0.1 0.2 0.3 0.3 0.277778 0.255556 0.233333 0.211111 0.188889 0.166667 0.144444 0.122222 0.1 0.1 0.1 " \
	"the rate rises in its warm-up, and then falls linearly"

status 0 "--start accepts a checkpoint" train --start 1-0004.safetensors --lr 1e-30 --wd 0 --steps 1 --save begun
like "$T/err" '^pworker: all [0-9]* arrays start from the file$' "--start reports that all arrays start from the file"
is "$(pmerge --diff --tolerance 1e-6 begun-0000-000001.safetensors 1-0004.safetensors | grep -vc ':momentum\|_moving_\|^name')" 0 \
	"--start begins with the weights of the file"
pmerge --rename '(.*)_weight=module.\1.w' --drop '*moving*' 1-0004.safetensors >renamed.safetensors
pmerge -o renamed.params renamed.safetensors
status 0 "--start accepts renamed arrays in MXNet's format, of other classes" train --start renamed.params \
	--start-rename '^module[.](.*)[.]w$=\1_weight' --classes 20 --steps 1
like "$T/err" '^pworker: [0-9]* arrays start from the file, all but fc1_weight \([0-9x]*, not [0-9x]*\), fc1_bias ' \
	"--start names the arrays whose shape differs"
like "$T/err" ', bn1_moving_mean \(not there\),' "--start names the arrays that are not in the file"
status 2 "--start-rename refuses a rule that changes no name" train --start renamed.params --start-rename 'zz=yy' --steps 1
like "$T/err" '^pworker: renamed\.params: the rule zz=yy changes no name; pmerge --list prints the names$' "the error names the rule"
status 1 "--start refuses a file without any array of the net" train --start renamed.params --start-rename '.*=x' --steps 1
like "$T/err" '^pworker: renamed\.params: has none of the net.s arrays: the net.s first is conv1_weight, '\
'the file.s is [a-z0-9_.]*; see --start-rename, as in from:torch-resnet$' "--start's error names an array of the net and one of the file"

status 2 "--optimizer refuses an unknown name" train --optimizer sdg
like "$T/err" "^pworker: --optimizer: 'sdg' is none of " "--optimizer's error quotes the unknown name"
n=$(awk -v i="$i" 'BEGIN { printf "%d", i - 1 }')	# --swa's run
last4=$n-0004.safetensors
pmerge --mean --no-average --drop '*_moving_*' -o mean.safetensors "$n"-000[234].safetensors
pmerge --average --drop '*_moving_*' -o picked.safetensors "$last4"
ok "--swa averages the weights of its epochs" pmerge --diff --tolerance 1e-6 \
	mean.safetensors picked.safetensors
status 0 "--eval accepts a checkpoint with an average" pworker --eval "$last4" --data a.rec --batch 20
like "$T/err" '^pworker: uses the average of the weights' "--eval reports that it uses the average"
cp "$T/out" average.tsv
pmerge --average -o alone.safetensors "$last4"
pmerge --average -o alone3.safetensors "$n-0003.safetensors"
ok "--eval gives the same score for a file of the average alone" \
	sh -c "pworker --eval alone.safetensors --data a.rec --batch 20 | cmp - average.tsv"
pmerge -o average.params "$last4" && pmerge -o back.safetensors average.params
ok "pmerge writes the average to MXNet's format" pmerge --diff alone.safetensors back.safetensors
pmerge -o mean4.safetensors "$last4" "$n-0003.safetensors" && pmerge --average -o of-mean.safetensors mean4.safetensors
pmerge -o of-alone.safetensors alone.safetensors alone3.safetensors
ok "the mean of averages is the average of the mean" pmerge --diff of-mean.safetensors of-alone.safetensors
status 0 "--eval accepts --no-average" pworker --eval "$last4" --data a.rec --batch 20 --no-average
ok "--eval --no-average gives another score" sh -c "! cmp -s '$T/out' average.tsv"
train --lr 0.045 --swa 1 --epochs 4 --val a.rec >val.tsv 2>/dev/null
is "$(awk -F'\t' '$5 == "validation" { loss = $9 } END { printf "%.4f", loss }' val.tsv)" \
	"$(awk 'NR == 2 { printf "%.4f", $2 }' average.tsv)" "--swa validates the average"
train --lr 0.045 --swa 1 --epochs 4 >noval.tsv 2>/dev/null
is "$(last noval.tsv)" "$(last val.tsv)" "a validation of the average changes no loss of training"
status 2 "pworker refuses --ema with --swa" train --ema 0.9 --swa 2
status 2 "--swa refuses --slack 1" train --swa 2 --slack 1
status 2 "--clip-norm refuses --slack 2" train --clip-norm 1 --slack 2
like "$T/err" '^pworker: --clip-norm: .* a synchronous job$' "--clip-norm's error asks for a synchronous job"
status 2 "--optimizer lars refuses --async" train --optimizer lars --async
status 2 "--unit refuses --optimizer adam" train --optimizer adam --unit
like "$T/err" '^pworker: --unit: needs --optimizer muon' "--unit's error names the optimizer that it needs"

# refused OPTIONS... WHY: pworker refuses an option without effect, and gives this reason.
refused() {
	why=${*: -1}
	status 2 "pworker refuses ${*:1:$#-1}" train "${@:1:$#-1}"
	is "$(cat "$T/err")" "pworker: $why" "pworker gives the reason why it refuses ${*:1:$#-1}"
}
refused --beta2 0.9 "--beta2: needs --optimizer adam, adamw, rmsprop or muon, not sgd"
refused --optimizer lars --beta2 0.9 "--beta2: needs --optimizer adam, adamw, rmsprop or muon, not lars"
refused --epsilon 0.1 --optimizer nesterov "--epsilon: needs --optimizer adam, adamw, rmsprop, lars or muon, not nesterov"
refused --optimizer descent --momentum 0.5 \
	"--momentum: needs --optimizer sgd, nesterov, adam, adamw, rmsprop, lars or muon, not descent"
refused --trust 0.1 --optimizer adam "--trust: needs --optimizer lars, not adam"
refused --turns 5 "--turns: needs --optimizer muon, not sgd"
refused --optimizer muon --turns 0 "--turns: 0 is not in 1..100"
refused --swa 99 "--swa: epoch 99, counted from 0, is not reached with --epochs 10"
refused --swa 4 --epochs 4 "--swa: epoch 4, counted from 0, is not reached with --epochs 4"
refused --ema 1 "--ema: '1' is not above 0 and below 1"
refused --ema 0 "--ema: '0' is not above 0 and below 1"
refused --lookahead 5:0 "--lookahead: '0' is not above 0 and below 1"
refused --optimizer adam --momentum 1 "--momentum: must be below 1 with --optimizer adam"
refused --optimizer rmsprop --beta2 1 "--beta2: must be below 1 with --optimizer rmsprop"
refused --wd 0 --wd-mult '*_bias=0' "--wd-mult: has no effect with --wd 0"
printf 'pworker --optimizer muon\npworker --turns 3\npworker --unit\npworker --lr 0.02,x0.1@9\n' >muon
status 0 "pworker ignores a recipe's options of another optimizer" train "@$T/muon" --optimizer sgd --steps 1
is "$(grep -c 'turns\|unit\|--lr' "$T/err")" 0 "pworker reports nothing about the ignored options of a recipe"
status 0 "--lr accepts a change after the last epoch" train --lr 0.02,x0.5@1,x0.1@4,x0.1@5 --epochs 2 --steps 1
like "$T/err" '^pworker: --lr: its change at epoch 4 is not reached with --epochs 2$' \
	"pworker reports a change of rate after the last epoch"
status 0 "--lr accepts a warm-up longer than the run" train --lr warmup:4,0.1 --epochs 2 --steps 1
like "$T/err" '^pworker: --lr: a warm-up of 4 epochs does not end with --epochs 2$' "pworker reports a warm-up longer than the run"
train --lr 0.1,cosine@1 --epochs 2 >out 2>err
like err '^pworker: --lr: the rate is 0 from epoch 1 on, and --epochs is 2; end the curve at @2$' \
	"pworker reports a curve that ends before the run"
train --lr 0.1,linear@3 --epochs 1 >out 2>err
like err '^pworker: --lr: its curve ends at epoch 3, and the run with --epochs 1$' "pworker reports a curve longer than the run"
train --lr 0.1,cosine:0.01@1 --epochs 2 >out 2>err
is "$(grep -c -- --lr err)" 0 "nothing is said about a curve that ends above 0"
status 2 "a warm-up over epochs refuses records from standard input" \
	sh -c "cat a.rec | pworker --net lenet --variant bn --data - --lr warmup:2,0.1"
like "$T/err" 'a pipe has no epochs, which this --lr needs' "the error says that a pipe has no epochs for --lr"
status 2 "--lr-mult refuses a rule without a number" train --lr-mult fc1
status 2 "--wd-mult refuses a pattern that matches no array" train --wd-mult 'fc9*=0' --steps 1
like "$T/err" "'fc9\*' is the name of no array of the net" "--wd-mult's error quotes the pattern that matches no array"
status 2 "--lr refuses an unknown curve" train --lr 0.1,sine@4

# The images are so bright that the first step's weights are far off, and later products are NaN or infinite.
mlp="pworker --net mlp --init uniform:0.07 --shape 3x32x32 --data a.rec --batch 20 --epochs 2 --seed 5"
status 1 "a NaN or infinite gradient ends the run" $mlp --scale 1e20 --lr 100
cp "$T/out" log
like "$T/err" '^pworker: step [2-9]: (the loss is (nan|inf); .* (of|in) |the gradient of )[a-z0-9_]+' \
	"pworker's error gives the step and names the layer or array"
n=$(sed -n 's/^pworker: step \([0-9]*\): .*/\1/p' "$T/err")
is "$(awk -F'\t' '$5 == "step" { print $7 }' log | tail -n 1)" $((n - 1)) "the log ends before the step whose gradient is bad"
is "$(awk -F'\t' '$5 == "step" && $9 !~ /^[0-9.]+$/' log)" "" "every loss in the log is a finite number"
status 1 "a NaN or infinite loss ends the run" $mlp --scale 1e30 --lr 1e6
like "$T/err" '^pworker: step 2: the loss is (nan|inf); the first layer with such an output is fc[12]; ' \
	"pworker's error gives the step and the layer of a bad loss"
status 1 "a run with --on-nan skip exits with 1 after bad losses" $mlp --scale 1e30 --lr 1e6 --on-nan skip
like "$T/err" '^pworker: step 2: the loss is (nan|inf); .*; this batch is left out$' \
	"--on-nan skip reports the batch that it leaves out"
is "$(awk -F'\t' '$5 == "epoch"' "$T/out" | wc -l)" 2 "--on-nan skip runs all epochs"
counted() { awk -F'\t' -v event="$1" '$5 == event { n += $8 } END { print n }' "$T/out"; }
is "$(counted epoch)" "$(counted step)" \
	"an epoch with --on-nan skip has the samples of its steps"
status 1 "a run with --on-nan skip exits with 1 after bad gradients" $mlp --scale 1e20 --lr 100 --on-nan skip --save bad
like "$T/err" \
	'^pworker: step 2: the (gradient of fc2_weight|loss) is .*; the first layer with such an output is fc1; (.*; )?this batch'\
' is left out$' \
	"--on-nan skip names the first layer whose output is bad"
is "$(counted epoch)" 20 "--on-nan skip leaves out only the bad batches"
status 0 "--on-nan skip saves finite weights" pmerge --verify bad-0002.safetensors
status 1 "a run with --on-nan skip and --accumulate 2 exits with 1" \
	$mlp --scale 1e20 --lr 100 --on-nan skip --save bad --accumulate 2 --engine ref
status 0 "--on-nan skip with --accumulate 2 saves finite weights" pmerge --verify bad-0002.safetensors
for more in "" "--accumulate 2"; do
	$mlp --scale 0.01 --epochs 1 --save go $more >/dev/null 2>&1
	status 0 "pworker trains with --on-nan skip${more:+ and $more}" \
		$mlp --scale 0.01 --epochs 1 --on-nan skip --save skip $more
	ok "--on-nan skip${more:+ with $more} changes no byte of a finite run" cmp go-0001.safetensors skip-0001.safetensors
done
status 2 "--on-nan refuses an unknown word" train --on-nan go
# A convolution's weights become -inf and its ReLU then gives 0, so that every loss is finite.
cat >hide.lua <<'END'
return softmax{fc{relu(conv{data(), 1, kernel = 1, bias = false, name = "conv1"}), 10, name = "fc1"}}
END
hide="pworker --net ./hide.lua --shape 3x32x32 --data a.rec --val a.rec --batch 20 --lr 1e6 --lr-mult fc*=0 --lr-mult conv*=1e6 \
	--scale 1e27 --epochs 2 --seed 1 --engine cpu --save hide"
ways=("" "--on-nan skip" "--best" "--steps 2" "--batch 3")
pworker --net lenet --print --batch 1 --engine cpu >/dev/null 2>&1 ||
	{ ways=(); skip "pworker finds infinite weights behind finite losses" "this build has no engine cpu"; }
for more in "${ways[@]}"; do
	rm -f hide-*
	# shellcheck disable=SC2086
	status 1 "infinite weights behind finite losses end a run${more:+ with $more}" $hide $more
	like "$T/err" '^pworker: step (2|3|16): weights of conv1_weight are NaN or infinite$' \
		"pworker names the infinite array${more:+ with $more}"
	is "$(echo hide-*) $(awk -F'\t' '$5 == "validation" || $9 == "nan"' "$T/out")" "hide-* " \
		"pworker neither saves nor validates infinite weights${more:+ with $more}"
done
done_testing
