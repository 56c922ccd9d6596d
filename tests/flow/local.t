# local.t - steps of the optimizer within the workers, whose weights are averaged.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
export XDG_STATE_HOME=$T/state OMP_NUM_THREADS=1
trap 'really_living | xargs -r kill -9; rm -rf "$T"' EXIT
cd "$T" || exit 1

bright_records 320 || exit 1
net="--net mlp --shape 3x28x28 --data train.rec --lr 0.01 --scale 0.00390625 --batch 4"
# job NAME N OPTION...: a job of N workers, whose weights are NAME-*.safetensors.
job() {
	local name=$1 n=$2
	shift 2
	# shellcheck disable=SC2086
	dlaunch -n "$n" -s 2 --env STAND --env TALLY_SHARE --respawn 99 pworker $net --save "$name" --cut 0 "$@" \
		>"$name.tsv" 2>"$name.err"
}
loss() { awk -F '\t' '$5 == "epoch" { printf "%s ", $9 }' "$1.tsv"; }
near() { echo "$1 $2" | awk '{ h = NF / 2; for (i = 1; i <= h; i++) if (($i / $(i + h) - 1) ^ 2 > 2.5e-7) exit 1; exit h < 2 }'; }
sent() { awk -F '\t' '$5 == "traffic" && $19 == "gradients" && $3 == "worker" && $6 == 0 { n += $17 } END { print n }' "$1.tsv"; }

status 0 "a job with one plain local step runs" job one 2 --epochs 2 --momentum 0 --wd 0 --local-steps 1
job sync 2 --epochs 2 --momentum 0 --wd 0
ok "one plain local step is a synchronous step: $(loss one)= $(loss sync)" near "$(loss one)" "$(loss sync)"
job alone 1 --epochs 2 --optimizer adam --lr 0.001 --lr-mult '*_bias=2' --local-steps 5
job adam 1 --epochs 2 --optimizer adam --lr 0.001 --lr-mult '*_bias=2'
ok "the local steps of one worker are those of its servers: $(loss alone)= $(loss adam)" near "$(loss alone)" "$(loss adam)"
job resumed 2 --epochs 2 --momentum 0 --wd 0 --local-steps 1 --resume one-0001.safetensors
ok "a job that goes on from a checkpoint reports the state that its workers lack" \
	grep -q '^worker 0: pworker: the optimizer state of local steps is in no checkpoint, and starts from zeros$' resumed.err
ok "without momentum a job that goes on from a checkpoint ends with the same bits" cmp one-0002.safetensors resumed-0002.safetensors

process() { for p in $(really_living); do ! tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline" | grep -q -e "$1" || echo "$p"; done; }
# die PROCESS... LINE: kills processes when the job has printed two more lines, and waits for the successor of one.
die() {
	local all=() line=${*: -1}
	line_of killed.err "^worker 0: .*Batch" $(($(grep -c "^worker 0: .*Batch" killed.err) + 2)) "$pid" || return
	for p in "${@:1:$#-1}"; do all+=("$(process "$p")"); done
	kill -9 "${all[@]}" && line_of killed.err "$line" $(($(grep -c "$line" killed.err) + 1)) "$pid"
}
status 0 "a job with four local steps runs" job four 2 --epochs 18 --keep 1 --frequent 4 --local-steps 4
is "$(sent four)" $(($(sent sync) / 4)) "four local steps send a quarter of the gradients"
job killed 2 --epochs 18 --keep 1 --frequent 4 --local-steps 4 & pid=$!
ok "a worker and a server return that were killed at once" die "--worker 1/" "--server 0/" "^worker 1: pworker: was started again"
ok "the other worker returns" die "--worker 0/" "^worker 0: pworker: was started again"
wait "$pid"
is $? 0 "their job ends with 0"
ok "their job has the bits of one without deaths" cmp four-0018.safetensors killed-0018.safetensors
refused() {
	status 2 "$1" pworker --net mlp --data train.rec --servers a:1 --plain --worker 0/2 --local-steps 4 "${@:3}"
	is "$(cat err)" "pworker: --local-steps: $2" "$1, in one line"
}
refused "local steps with a rule that needs norms are refused" \
	"goes with sgd, nesterov, descent, adam, adamw and rmsprop, without --clip-norm" --optimizer lars
refused "local steps of an asynchronous job are refused" "needs a synchronous job, without --async, --slack and --backup" --async
refused "local steps with micro-batches are refused" "does not go with --accumulate" --accumulate 2
done_testing
