# backup.t - steps of a job with backup workers do not wait for a stopped worker, nor for one that was killed.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
export XDG_STATE_HOME=$T/state OMP_NUM_THREADS=1
trap 'really_living | xargs -r kill -9; rm -rf "$T"' EXIT
cd "$T" || exit 1

bright_records 1500 || exit 1
process() { for p in $(really_living); do ! tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline" | grep -q -e "--worker $1/" || echo "$p"; done; }
steps() { awk -F '\t' -v w="$1" '$3 == "worker" && $5 == "step" && $4 == w { n = $7 } END { print n + 0 }' job.log; }
# ahead RANK N: another worker is N steps ahead of this one, which has begun.
ahead() {
	local until=$((SECONDS + 120))
	until [ "$(steps "$1")" -gt 0 ] && [ $(($(steps 0) - $(steps "$1"))) -ge "$2" ]; do
		[ $SECONDS -lt $until ] && kill -0 "$pid" 2>/dev/null || return
		read -rt 0.05 <> <(:) || :
	done
}
dlaunch -n 3 -s 2 --respawn 9 --env STAND --env TALLY_SHARE pworker --net mlp --shape 3x28x28 --data train.rec \
	--val train.rec --lr 0.01 --scale 0.00390625 --batch 1 --epochs 2 --backup 1 --cut 0 --save w >job.log 2>err & pid=$!
ahead 2 -99999
late=$(process 2)
kill -STOP "$late"
ok "the others go on while a worker is stopped" ahead 2 30
kill -CONT "$late"
kill -9 "$(process 1)"
ok "a killed worker returns" line_of err "^worker 1: pworker: was started again; goes on at step [0-9]*$" 1 "$pid"
wait "$pid"
is $? 0 "the job ends with 0"
is "$(ls w-*.safetensors | tr '\n' ' ')" "w-0001.safetensors w-0002.safetensors " "each epoch has its checkpoint"
is "$(awk -F '\t' '$3 == "worker" && $5 == "end" { print $4, $7 }' job.log | sort | tr '\n' ,)" "0 1000,1 1000,2 1000," \
	"each worker ends after the last step"
ok "no worker has a step twice, and the stopped one left some out" awk -F '\t' '
	$3 == "worker" && $5 == "step" { n[$4]++; if ($7 <= last[$4]) exit bad = 1; last[$4] = $7 }
	END { exit bad || n[2] > 1000 - 25 }' job.log
ok "the log says how late its gradients were" awk -F '\t' '
	$5 == "staleness" && $19 == "all" && $4 == 2 && $29 >= 25 { late = 1 } END { exit !late }' job.log
ok "the log has the validation of each epoch" test "$(awk -F '\t' '$5 == "validation"' job.log | wc -l)" = 2
refused() {
	status 2 "$1" pworker --net mlp --data train.rec --servers a:1 --plain --worker 0/2 "${@:3}"
	is "$(cat err)" "pworker: $2" "$1, in one line"
}
refused "as many backup workers as workers are refused" "--backup: 2 of 2 workers: must be fewer than all" --backup 2
refused "backup workers of an asynchronous job are refused" \
	"--backup: needs a synchronous job, without --async and --slack" --backup 1 --async
refused "backup workers with a codec are refused" \
	"--backup: does not go with --codec, as what a late gradient held is lost" --backup 1 --codec bf16
done_testing
