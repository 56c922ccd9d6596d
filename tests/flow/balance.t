#!/usr/bin/env bash
# balance.t - the batches of workers follow their speeds, through a death, and the log repeats them to the same bits.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
export XDG_STATE_HOME=$T/state OMP_NUM_THREADS=1
trap 'really_living | xargs -r kill -9; rm -rf "$T"' EXIT
cd "$T" || exit 1

bright_records 500 || exit 1
# Worker 2 computes with the slow engine, which makes it many times slower than the others at any load of the machine.
mkdir uneven
cat >uneven/pworker <<-EOF
	#!/bin/sh
	case " \$* " in *" --worker 2/"*) set -- "\$@" --engine ref ;; esac
	exec "$BUILD/pworker" "\$@"
EOF
chmod +x uneven/pworker
process() { for p in $(really_living); do ! tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline" | grep -q -e "--worker $1/" || echo "$p"; done; }
job() {
	dlaunch -n 3 -s 2 --respawn 9 --env STAND --env TALLY_SHARE uneven/pworker --net lenet --shape 3x28x28 --data train.rec \
		--val train.rec --lr 0.01 --scale 0.00390625 --batch 8 --epochs 8 --cut 0 "$@"
}
# changes LOG: the batches from each step on.
changes() { sed -n 's/^# batches \([0-9:]*\) from step \([0-9]*\) on$/\2 \1/p' "$1" | sort -nu; }

job --balance auto --save w >job.log 2>err & pid=$!
ok "the batches change" line_of err '^worker 0: pworker: batches [0-9:]* from step [0-9]* on$' 1 "$pid"
kill -9 "$(process 1)"
ok "a killed worker returns" line_of err "^worker 1: pworker: was started again; goes on at step [0-9]*$" 1 "$pid"
wait "$pid"
is $? 0 "the job ends with 0"
is "$(changes job.log | head -n 1)" "1 8:8:8" "the log has the first batches"
ok "the slow worker has far fewer samples than the others" awk -F '[ :]' '
	{ a = $2; b = $3; slow = $4 } END { exit !(NR > 1 && 2 * slow < a && 2 * slow < b) }' <(changes job.log)
is "$(awk -F '\t' '$5 == "epoch" || $5 == "validation" { n[$5 " " $8]++ } END { for (k in n) print n[k], k }' job.log |
	sort | paste -sd,)" "8 epoch 500,8 validation 500" "each sample counts once in each epoch and validation"
ok "each step has the samples that the log says" awk -F '\t' '
	NR == FNR { from[++n] = $1 + 0; split($0, w, /[ :]/); for (r = 0; r < 3; r++) of[n, r] = w[r + 2]; next }
	$3 == "worker" && $5 == "step" && $7 % 21 != 0 {
		for (i = n; from[i] > $7 + 0; i--);
		steps++
		if ($8 != of[i, $4]) { bad = 1; exit }
	}
	END { exit bad || steps != 3 * 8 * 20 }' <(changes job.log) job.log

status 0 "a job repeats the batches of a log" job --balance job.log --save r
cp out again.log
is "$(changes again.log)" "$(changes job.log)" "that job has the same batches at the same steps"
ok "that job ends with the same bits" cmp w-0008.safetensors r-0008.safetensors

refused() { # STATUS NAME MESSAGE OPTION...
	status "$1" "$2" pworker --net lenet --data train.rec --servers a:1 --plain --batch 16 "${@:4}"
	is "$(cat err)" "pworker: $3" "$2, in one line"
}
refused 2 "--balance in an asynchronous job is refused" \
	"--balance: needs a synchronous job, without --async, --slack and --backup" --worker 0/2 --balance auto --async
refused 2 "--balance of one worker is refused" "--balance: needs 2 to 255 workers, not 1" --worker 0/1 --balance auto
echo '# batches 16:16:15 from step 1 on' >other.log
refused 1 "a log of other batches is refused" "other.log: line 1: has 47 samples a step, and --batch 48" \
	--worker 0/3 --balance other.log
done_testing
