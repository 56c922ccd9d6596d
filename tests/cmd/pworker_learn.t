# pworker_learn.t - the options that say how weights change: each has its effect, and a run goes on from its checkpoint to the bit.
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
	"lars --lr 1 --trust 0.02" "muon --lr 0.02" "muon --lr 0.02 --unit --turns 3 --momentum 0.6" \
	"sgd --lr 0.04 --ema 0.5" "sgd --lr 0.045 --swa 1" "sgd --lr 0.05 --lookahead 2:0.5"; do
	i=$((i + 1))
	# shellcheck disable=SC2086
	status 0 "--optimizer $o" train --optimizer $o --epochs 4 --save "$i"
	cp "$T/out" "$i.tsv"
	ok "... learns" falls "$i.tsv"
	# shellcheck disable=SC2086
	train --optimizer $o --epochs 4 --steps 7 --save "part$i" >/dev/null 2>&1
	set -- part"$i"-0002-*.safetensors
	# shellcheck disable=SC2086
	status 0 "... and goes on" train --optimizer $o --epochs 4 --resume "$1" --save "whole$i"
	ok "... with the same bits" cmp "$i-0004.safetensors" "whole$i-0004.safetensors"
done
is "$(for k in $(seq $i); do last "$k.tsv"; done | sort -u | wc -l)" "$i" "each in its own way"
pmerge --no-state 1-0004.safetensors >bare.safetensors
status 0 "a checkpoint without the optimizer's state" train --resume bare.safetensors --epochs 5
like "$T/err" "^pworker: the checkpoint has no state of the optimizer: it begins anew\$" "... is told of"
status 2 "another optimizer's state" train --optimizer adam --resume 2-0004.safetensors --epochs 5
like "$T/err" "^pworker: 2-0004\.safetensors: was saved with --optimizer nesterov\$" "... is refused"
for o in "--beta2 0.9" "--epsilon 0.1" "--momentum 0.5"; do
	# shellcheck disable=SC2086
	train --optimizer adam --lr 0.002 $o --epochs 4 >o.tsv 2>/dev/null
	ok "$o makes a difference" test "$(last o.tsv)" != "$(last 3.tsv)"
done

same() { pmerge --diff "$1" "$2" | grep -c "^$3	"; }	# FILE FILE ARRAY: 0 when that array is the same
train --lr 0.05 --steps 1 --save base >/dev/null 2>&1
train --lr 0.05 --steps 1 --save held --lr-mult 'fc1_*=0' --lr-mult 'conv1_weight=2' >/dev/null 2>&1
train --lr 1e-9 --steps 1 --save start >/dev/null 2>&1
b=base-0000-000001.safetensors h=held-0000-000001.safetensors s=start-0000-000001.safetensors
is "$(pmerge --diff --tolerance 1e-6 $h $s | grep -c '^fc1_weight	')" 0 "--lr-mult 0 holds an array"
is "$(same $b $h conv2_weight) $(same $b $h conv1_weight)" "0 1" "... another goes its way, a third twice as fast"
train --lr 0.05 --steps 1 --save decay --wd 0.5 --wd-mult 'conv*=0' >/dev/null 2>&1
train --lr 0.05 --steps 1 --save none --wd 0 >/dev/null 2>&1
is "$(same decay-0000-000001.safetensors none-0000-000001.safetensors conv1_weight) $(same decay-0000-000001.safetensors \
	none-0000-000001.safetensors fc1_weight)" "0 1" "--wd-mult 0 keeps from decay"

status 0 "a one-cycle" train --lr warmup:1,0.3,linear:0.1@4 --epochs 5 --frequent 1
is "$(awk -F'\t' '$5 == "step" { printf "%g ", $12 }' "$T/out")" \
	"0.1 0.2 0.3 0.3 0.277778 0.255556 0.233333 0.211111 0.188889 0.166667 0.144444 0.122222 0.1 0.1 0.1 " "... rises and falls"

status 0 "begun with other weights" train --start 1-0004.safetensors --lr 1e-30 --wd 0 --steps 1 --save begun
like "$T/err" '^pworker: all [0-9]* arrays begin as in the file$' "... all of them"
is "$(pmerge --diff --tolerance 1e-6 begun-0000-000001.safetensors 1-0004.safetensors | grep -vc ':momentum\|_moving_\|^name')" 0 \
	"... which they are, but for what a step changes"
pmerge --rename '(.*)_weight=module.\1.w' --drop '*moving*' 1-0004.safetensors >renamed.safetensors
pmerge -o renamed.params renamed.safetensors
status 0 "from MXNet's format, renamed, of other classes" train --start renamed.params \
	--start-rename '^module[.](.*)[.]w$=\1_weight' --classes 20 --steps 1
like "$T/err" '^pworker: [0-9]* arrays begin as in the file; not fc1_weight \([0-9x]*, not [0-9x]*\), fc1_bias ' "... others are named"
like "$T/err" ', bn1_moving_mean \(not there\),' "... with the reason"
status 1 "from a file that has none of them" train --start renamed.params --start-rename '.*=x' --steps 1
like "$T/err" '^pworker: renamed\.params: has none of the net.s arrays: the net.s first is conv1_weight, '\
'the file.s is [a-z0-9_.]*; see --start-rename$' "... is said, with a name of each"

status 2 "an optimizer that there is not" train --optimizer sdg
like "$T/err" "^pworker: --optimizer: 'sdg' is none of " "... is said"
n=$(awk -v i="$i" 'BEGIN { printf "%d", i - 1 }')	# --swa's run
last4=$n-0004.safetensors
pmerge --mean --no-average --drop '*_moving_*' -o mean.safetensors "$n"-000[234].safetensors
pmerge --average --drop '*_moving_*' -o picked.safetensors "$last4"
ok "... the mean over epochs is that of their weights" pmerge --diff --tolerance 1e-6 \
	mean.safetensors picked.safetensors
status 0 "an average is what is judged" pworker --eval "$last4" --data a.rec --batch 20
like "$T/err" '^pworker: takes the average of the weights' "... which is said"
cp "$T/out" average.tsv
pmerge --average -o alone.safetensors "$last4"
pmerge --average -o alone3.safetensors "$n-0003.safetensors"
ok "... as from a file of it alone" sh -c "pworker --eval alone.safetensors --data a.rec --batch 20 | cmp - average.tsv"
pmerge -o average.params "$last4" && pmerge -o back.safetensors average.params
ok "... and what MXNet's format has" pmerge --diff alone.safetensors back.safetensors
pmerge -o mean4.safetensors "$last4" "$n-0003.safetensors" && pmerge --average -o of-mean.safetensors mean4.safetensors
pmerge -o of-alone.safetensors alone.safetensors alone3.safetensors
ok "the mean of averages is the average of means, batch norm's too" pmerge --diff of-mean.safetensors of-alone.safetensors
status 0 "... or not" pworker --eval "$last4" --data a.rec --batch 20 --no-average
ok "... which differs" sh -c "! cmp -s '$T/out' average.tsv"
train --lr 0.045 --swa 1 --epochs 4 --val a.rec >val.tsv 2>/dev/null
is "$(awk -F'\t' '$5 == "validation" { loss = $9 } END { printf "%.4f", loss }' val.tsv)" \
	"$(awk 'NR == 2 { printf "%.4f", $2 }' average.tsv)" "... and validated"
train --lr 0.045 --swa 1 --epochs 4 >noval.tsv 2>/dev/null
is "$(last noval.tsv)" "$(last val.tsv)" "... without a trace in the training"
status 2 "two averages" train --ema 0.9 --swa 2
status 2 "a mean over epochs that do not end together" train --swa 2 --slack 1
status 2 "norms without lockstep" train --clip-norm 1 --slack 2
like "$T/err" '^pworker: --clip-norm: .* slack 0' "... are refused"
status 2 "... for whole arrays too" train --optimizer lars --async
status 2 "what is another optimizer's" train --optimizer adam --unit
like "$T/err" '^pworker: --unit: is of --optimizer muon' "... is not taken in silence"

# refused OPTIONS... -- LINE: what has no effect beside the others is said, and nothing is begun.
refused() {
	why=${*: -1}
	status 2 "${*:1:$#-1}" train "${@:1:$#-1}"
	is "$(cat "$T/err")" "pworker: $why" "... is refused"
}
refused --beta2 0.9 "--beta2: is of --optimizer adam, adamw, rmsprop or muon, not of sgd"
refused --optimizer lars --beta2 0.9 "--beta2: is of --optimizer adam, adamw, rmsprop or muon, not of lars"
refused --epsilon 0.1 --optimizer nesterov "--epsilon: is of --optimizer adam, adamw, rmsprop, lars or muon, not of nesterov"
refused --trust 0.1 --optimizer adam "--trust: is of --optimizer lars, not of adam"
refused --turns 5 "--turns: is of --optimizer muon, not of sgd"
refused --optimizer muon --turns 0 "--turns: 0 is not in 1..100"
refused --swa 99 "--swa: epoch 99, counted from 0, does not come with --epochs 10"
refused --swa 4 --epochs 4 "--swa: epoch 4, counted from 0, does not come with --epochs 4"
refused --ema 1 "--ema: '1' is not above 0 and below 1"
refused --ema 0 "--ema: '0' is not above 0 and below 1"
refused --lookahead 5:0 "--lookahead: '0' is not above 0 and below 1"
refused --optimizer adam --momentum 1 "--momentum: of --optimizer adam it is below 1"
refused --optimizer rmsprop --beta2 1 "--beta2: of --optimizer rmsprop it is below 1"
refused --wd 0 --wd-mult '*_bias=0' "--wd-mult: nothing decays with --wd 0"
printf 'pworker --optimizer muon\npworker --turns 3\npworker --unit\npworker --lr 0.02,x0.1@9\n' >muon
status 0 "a recipe's options of another optimizer" train "@$T/muon" --optimizer sgd --steps 1
is "$(grep -c 'turns\|unit\|--lr' "$T/err")" 0 "... are let go"
status 0 "a rate that changes too late" train --lr 0.02,x0.5@1,x0.1@4,x0.1@5 --epochs 2 --steps 1
like "$T/err" '^pworker: --lr: its change at epoch 4 does not come with --epochs 2$' "... is said"
status 0 "a warm-up that does not end" train --lr warmup:4,0.1 --epochs 2 --steps 1
like "$T/err" '^pworker: --lr: a warm-up of 4 epochs does not end with --epochs 2$' "... likewise"
status 2 "a warm-up from a pipe" sh -c "cat a.rec | pworker --net lenet --variant bn --data - --lr warmup:2,0.1"
like "$T/err" 'a rate that changes within epochs needs to know how long they are' "... whose end nobody knows"
status 2 "a rule without a number" train --lr-mult fc1
status 2 "a rule for nothing" train --wd-mult 'fc9*=0' --steps 1
like "$T/err" "'fc9\*' is the name of no array of the net" "... is said"
status 2 "a curve that is none" train --lr 0.1,sine@4

# Pictures so bright that the first step's weights are far off, and the next ones' products no numbers.
mlp="pworker --net mlp --shape 3x32x32 --data a.rec --batch 20 --epochs 2 --seed 5"
status 1 "a gradient that is no number ends the run" $mlp --scale 1e20 --lr 100
cp "$T/out" log
like "$T/err" '^pworker: step [2-9]: (the loss is (nan|inf); .* (of|in) |the gradient of )[a-z0-9_]+' \
	"... at a step, with an array"
n=$(sed -n 's/^pworker: step \([0-9]*\): .*/\1/p' "$T/err")
is "$(awk -F'\t' '$5 == "step" { print $7 }' log | tail -n 1)" $((n - 1)) "... the one after the last of the log"
is "$(awk -F'\t' '$5 == "step" && $9 !~ /^[0-9.]+$/' log)" "" "... whose losses are numbers"
status 1 "so does a loss" $mlp --scale 1e30 --lr 1e6
like "$T/err" '^pworker: step 2: the loss is (nan|inf); it began in the output of layer fc[12]; ' "... at its step and layer"
status 1 "or only its batch" $mlp --scale 1e30 --lr 1e6 --on-nan skip
like "$T/err" '^pworker: step 2: the loss is (nan|inf); .*; this batch is left out$' "... which is said"
is "$(awk -F'\t' '$5 == "epoch"' "$T/out" | wc -l)" 2 "... and the epochs go to their end"
counted() { awk -F'\t' -v event="$1" '$5 == event { n += $8 } END { print n }' "$T/out"; }
is "$(counted epoch)" "$(counted step)" \
	"... with the pictures that counted"
status 1 "a bad gradient leaves out no more than its batch" $mlp --scale 1e20 --lr 100 --on-nan skip --save bad
like "$T/err" \
	'^pworker: step 2: the (gradient of fc2_weight|loss) is .*; it began in the output of layer fc1; (.*; )?this batch is left out$' \
	"... where it began is said"
is "$(counted epoch)" 20 "... one batch counted"
status 0 "... and all weights are numbers" pmerge --verify bad-0002.safetensors
status 1 "of pieces, too" $mlp --scale 1e20 --lr 100 --on-nan skip --save bad --accumulate 2 --engine ref
status 0 "... nothing of them stays" pmerge --verify bad-0002.safetensors
for more in "" "--accumulate 2"; do
	$mlp --scale 0.01 --epochs 1 --save go $more >/dev/null 2>&1
	status 0 "nothing to leave out" $mlp --scale 0.01 --epochs 1 --on-nan skip --save skip $more
	ok "... the same bits" cmp go-0001.safetensors skip-0001.safetensors
done
status 2 "no other way" train --on-nan go
# A convolution's weights become -inf, and what it gives then 0 behind its ReLU: every loss is a number.
cat >hide.lua <<'END'
return softmax{fc{relu(conv{data(), 1, kernel = 1, bias = false, name = "conv1"}), 10, name = "fc1"}}
END
hide="pworker --net ./hide.lua --shape 3x32x32 --data a.rec --val a.rec --batch 20 --lr 1e6 --lr-mult fc*=0 --lr-mult conv*=1e6 \
	--scale 1e27 --epochs 2 --seed 1 --engine cpu --save hide"
ways=("" "--on-nan skip" "--best" "--steps 2" "--batch 3")
pworker --net lenet --print --batch 1 --engine cpu >/dev/null 2>&1 ||
	{ ways=(); skip "weights that nobody hears of" "this build has no engine cpu"; }
for more in "${ways[@]}"; do
	rm -f hide-*
	# shellcheck disable=SC2086
	status 1 "weights that are no numbers, and nobody hears it $more" $hide $more
	like "$T/err" '^pworker: step (2|3|16): weights of conv1_weight are infinite or no numbers$' "... are found before they are kept"
	is "$(echo hide-*) $(awk -F'\t' '$5 == "validation" || $9 == "nan"' "$T/out")" "hide-* " "... and judged"
done
done_testing
