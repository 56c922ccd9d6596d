# return_async.t - killed workers of jobs with --async and --slack are started again, and each batch counts once.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
. "$TOP/tests/flow/killed.sh"
export XDG_STATE_HOME=$T/state OMP_NUM_THREADS=1
trap 'really_living | xargs -r kill -9; rm -rf "$T"' EXIT
cd "$T" || exit 1

bright_records 320 || exit 1
train="--net mlp --shape 3x28x28 --data train.rec --val train.rec --lr 0.01 --scale 0.00390625 --batch 4 --epochs 10000"

process() {
	local p
	for p in $(really_living); do
		! tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline" | grep -q -e "--worker $1/" || echo "$p"
	done
}
# kill_workers RANK...: at once; one that was killed before may not be there yet.
kill_workers() {
	local w p until=$((SECONDS + 60)) all=()
	for w; do
		until p=$(process "$w") && [ -n "$p" ]; do
			[ $SECONDS -lt $until ] || return
			read -rt 0.05 <> <(:) || :
		done
		all+=("$p")
	done
	kill -9 "${all[@]}" && killed=$((killed + $#))
}
# Of the batches that each worker has computed (with "each"), or all workers together: none is there twice, and one may be
# missing for each kill, as a worker may be killed just before it logs its batch.
rows() {
	awk -F '\t' -v each="${2-}" -v killed="$killed" '
		$3 == "worker" && $5 == "step" { n[(each ? $4 : "") " " $7]++; if ($7 > last[$4]) last[$4] = $7 }
		END {
			for (k in n) twice += n[k] > 1
			for (w in last) least = least && least < last[w] ? least : last[w]
			for (w in last) for (k = 1; k <= (each ? last[w] : least); k++) lost += !((each ? w : "") " " k in n)
			if (!each) for (w in last) { lost /= length(last); break }
			print least + 0 " batches, " twice + 0 " twice, " lost + 0 " missing, " killed " kills"
			exit !(least > 0 && !twice && lost <= killed)
		}' "$1"
}
returned() { line_of "$1" "^worker $2: pworker: was started again; goes on at step [0-9]*$" "$3"; }
# next PATTERN [N]: N more lines of the job.
next() { line_of "$T/err" "$1" $(($(grep -c "$1" "$T/err") + ${2:-1})) "$pid"; }
# stopped NAME: stops the job; what holds then.
stopped() {
	kill -TERM "$pid"
	ok "$1: a job whose workers were killed stops in order" ends 143
	ok "$1: the log has the batches of both workers, each once" rows "$T/job.log" each
	ok "$1: nothing is left" really_none_left
}

start job --respawn 1000 -- $train --frequent 10 --async --cut 30 --keep 2
killed=0
kill_workers 1
next '^worker 0: .*Batch' 2
kill_workers 0
ok "--async: worker 0 is started again" returned "$T/err" 0 1
next '^worker 1: .*Batch' 2
kill_workers 0 1
ok "--async: both workers are started again" returned "$T/err" 0 2
for w in 1 0; do
	next "^worker $w: .*Train-accuracy"
	n=$(grep -c "^worker $w: pworker: was started" "$T/err")
	kill_workers $w
	ok "--async: worker $w is started again in a validation" returned "$T/err" $w $((n + 1))
	next "^worker $w: .*Train-accuracy"
done
stopped "--async"
is "$(awk -F '\t' '$5 == "epoch" { print $4, $6, $8 }' job.log | sort | uniq -c | awk '$1 != 1 || $4 != 160')" "" \
	"--async: each worker reports an epoch once, with all of its records"

for how in "--slack 2" "--async --codec 2bit"; do
	start job --respawn 1000 -- $train --frequent 10 --log-style tensorflow $how
	killed=0
	for w in 0 1; do
		next "^worker $w: .*global"
		kill_workers $w
		next "^worker $((1 - w)): .*global"
		kill_workers 0 1
	done
	next "^worker 0: .*global"
	next "^worker 1: .*global"
	stopped "$how"
	is "$(sed -n 's/.*global_step: //p' "$T/err" | sort -n | tail -n 1)" \
		"$(awk -F '\t' '$5 == "step" && $7 > n[$4] { n[$4] = $7 } END { print n[0] + n[1] }' job.log)" \
		"$how: each batch is one update"
done

# A number of updates by all workers, which are killed.
start sum --respawn 1000 -- ${train% --epochs *} --frequent 10 --async --updates 6000 --keep 2
killed=0
for w in 0 1; do
	next "^worker $w: .*Batch"
	kill_workers $w
	ok "--updates: worker $w is started again" returned "$T/err" $w 1
done
ok "--updates: a job whose workers were killed ends" ends 0
ok "--updates: the log has the batches of both workers, each once" rows "$T/sum.log" each
n=$(head -c 4000 "$(ls -t sum-*.safetensors | head -n 1)" | grep -aEo '"updates": ?"[0-9]+"' | tr -dc 0-9)
ok "--updates: each worker does at most one more: $n" test "$n" -ge 6000 -a "$n" -le 6002
ok "--updates: each update is a batch of the log, but for one for each kill" awk -F '\t' -v n="$n" '
	$3 == "worker" && $5 == "step" { rows++ } END { exit rows > 6002 || rows < n - 2 }' sum.log

# The number of workers changes.
job=$XDG_STATE_HOME/tally/jobs/grow
# grow N: a job of 1 to N workers, which all join.
grow() {
	dlaunch --detach --job grow --respawn 1000 --env STAND --env TALLY_SHARE -n "1..$1" -s 2 pworker $train --async \
		>"$T/out" 2>"$T/err"
	killed=0
	status 0 "scale adds workers" dlaunch scale grow "$1"
	ok "a worker joins" line_of "$job/err" "^worker $(($1 - 1)): pworker: joins the job: " 1
}
grow 3
for n in "2 1" "0 1" "1 1" "2 2"; do
	kill_workers "${n% *}"
	ok "worker ${n% *} returns to a job of three" returned "$job/err" $n
done
ok "worker 1 goes on" line_of "$job/err" '^worker 1: .*Train-accuracy' $(($(grep -c '^worker 1: .*Train-accuracy' "$job/err") + 1))
status 0 "stop ends a job of three workers" dlaunch stop grow
ok "the log has the batches of all workers, each once" rows "$job/out"
is "$(grep -c ': joins the job' "$job/err")" 2 "a worker that returns does not join again"
status 0 "rm removes the job" dlaunch rm grow

# A worker that is to leave is killed: it is started again, and leaves.
grow 2
victim=$(process 1)
kill -STOP "$victim"
status 0 "scale takes the worker away" dlaunch scale grow 1
kill -9 "$victim"
ok "the worker leaves, although it was killed" line_of "$job/err" '^dlaunch: worker 1 on .* has left$' 1
like "$job/err" '^worker 1: dlaunch: signal 9 ended this worker; it was started again' "the killed worker was started again, to say goodbye"
ok "worker 0 goes on alone" line_of "$job/err" '^worker 0: pworker: 1 worker from batch' 1
status 0 "stop ends the job" dlaunch stop grow
is "$(awk -F '\t' '$5 == "step" && n[$7]++' "$job/out")" "" "no batch was computed twice"
ok "nothing of these jobs is left" really_none_left
done_testing
