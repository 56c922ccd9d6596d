# wait.t - whoever waits for more than 3 seconds names the process that is late.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
. "$TOP/tests/flow/data.sh"

export OMP_NUM_THREADS=1
trap 'really_living | xargs -r kill -9; rm -rf "$T"' EXIT

# goes_on: the workers report 2 more steps.
goes_on() { line_of "$T/err" Speed $(($(grep -c Speed "$T/err") + 2)); }
# stop_process PID: what was printed until then is of no interest.
stop_process() { : >"$T/err"; kill -STOP "$1"; }
# names W WHOM: worker W waits for WHOM, and names at most one process before, which was late to answer.
names() {
	line_of "$T/err" "^worker $1: pworker: waiting for $2" 1 || return
	[ "$(grep "^worker $1: pworker: waiting for" "$T/err" | grep -vc "waiting for $2")" -le 1 ]
}

have mnist || { skip "stopped processes" "$WHY"; done_testing; }
dlaunch -n 2 -s 2 --env STAND --env TALLY_SHARE pworker --net lenet --data "$MNIST_TEST" --batch 32 --frequent 5 \
	--epochs 100000 >"$T/log" 2>>"$T/err" & pid=$!
ok "a job trains" line_of "$T/err" Speed 2

stopped=$(real_process --worker 0)
stop_process "$stopped"
ok "worker 1 names the stopped worker 0, not a server" names 1 'worker 0$'
ok "a server names it" line_of "$T/err" '^server .: pserver: waiting for worker 0 (' 1
kill -CONT "$stopped"
ok "the job goes on" goes_on

stopped=$(real_process --server 1)
stop_process "$stopped"
for w in 0 1; do
	ok "worker $w names the stopped server 1, not server 0" names "$w" 'server 1 ('
done
kill -CONT "$stopped"
ok "the job goes on again" goes_on
is "$(grep -c '^server 1: pserver: waiting' "$T/err")" 0 "a server that was stopped blames nobody when it wakes"

stopped="$(real_process --worker 0) $(real_process --worker 1)"
: >"$T/err"
# shellcheck disable=SC2086
kill -STOP $stopped
for w in 0 1; do
	ok "both servers name worker $w when all workers are stopped" \
		line_of "$T/err" "^server [01]: pserver: waiting for worker $w (127.0.0.1:[0-9]*)\$" 2
done
# shellcheck disable=SC2086
kill -CONT $stopped
ok "the job goes on after all workers" goes_on
is "$(grep -c 'pworker: waiting' "$T/err")" 0 "workers that were stopped blame nobody when they wake"

stopped="$(real_process --worker 0) $(real_process --server 1)"
# Each may have sent worker 1 and the other all of the step, and is not late then: both go on and stop again.
names_both() {
	local report
	for _ in 1 2 3 4 5; do
		: >"$T/err"
		# shellcheck disable=SC2086
		kill -STOP $stopped
		for report in 1 2; do
			line_of "$T/err" '^worker 1: pworker: waiting for ' "$report" || return
			! grep -q '^worker 1: pworker: waiting for worker 0, server 1 (' "$T/err" || return 0
		done
		# shellcheck disable=SC2086
		kill -CONT $stopped && goes_on || return
	done
	return 1
}
ok "worker 1 names worker 0 and server 1, which are stopped at once" names_both
ok "the other server names worker 0" line_of "$T/err" '^server 0: pserver: waiting for worker 0 (' 1
# shellcheck disable=SC2086
kill -CONT $stopped
ok "the job goes on after both" goes_on

read -r agent <"/proc/$pid/task/$pid/children"
stop_process "$agent"
ok "the launcher names the host of the stopped agent" line_of "$T/err" '^dlaunch: waiting for host localhost: silent for 3 s$' 1
kill -CONT "$agent"
ok "the launcher reports that it is back" line_of "$T/err" '^dlaunch: host localhost: is back$' 1
ok "the job goes on once more" goes_on
kill -TERM "$pid"
wait "$pid"
is $? 143 "the job ends when it is asked to"

(umask 077; head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$T/key")
for i in 0 1; do
	pserver --listen 127.0.0.1:0 --workers 2 --server $i/2 --plain --ready-fd 3 3>"$T/at.$i" >"$T/server.$i" 2>&1 &
	servers[i]=$!
done
until [ -s "$T/at.0" ] && [ -s "$T/at.1" ]; do kill -0 "${servers[@]}" || break; read -rt 0.05 <> <(:) || :; done
pworker --net mlp --data "$MNIST_TEST" --steps 3 --plain --servers "$(cat "$T/at.0"),$(cat "$T/at.1")" --worker 0/2 \
	>"$T/worker" 2>&1 & worker=$!
ok "a worker names one that has not connected, not a server" line_of "$T/worker" 'waiting for worker 1$' 1 "$worker"
for i in 0 1; do
	ok "server $i names it too" line_of "$T/server.$i" 'waiting for worker 1 (not connected)$' 1 "${servers[i]}"
done
ok "nobody names a server" test "$(grep -c 'waiting for server' "$T/worker")" = 0
kill -9 "$worker" "${servers[@]}"
wait "$worker" "${servers[@]}" 2>/dev/null

im2rec --serve --listen 127.0.0.1:0 --key-file "$T/key" --ready-fd 3 "$MNIST_TEST" 3>"$T/at" 2>"$T/server" & server=$!
until [ -s "$T/at" ]; do kill -0 "$server" || break; read -rt 0.05 <> <(:) || :; done
pworker --net mlp --data "$(cat "$T/at")" --data-key-file "$T/key" --batch 32 --frequent 5 --epochs 100000 \
	>"$T/log" 2>>"$T/worker" & worker=$!
# shuts_up: 20 more lines of progress, and none of a wait.
shuts_up() { line_of "$T/worker" Speed 20 "$worker" && ! grep waiting "$T/worker"; }
: >"$T/worker"
kill -STOP "$server"
ok "a worker names a data server that is stopped" \
	line_of "$T/worker" "^pworker: waiting for the records of $(cat "$T/at")\$" 1 "$worker"
: >"$T/worker"
kill -CONT "$server"
ok "the worker goes on when it wakes" shuts_up
kill -STOP "$worker"
read -rt 3 <> <(:)
kill -CONT "$worker"
: >"$T/worker"
ok "a worker that was stopped does not blame the data server" shuts_up
kill -9 "$worker" "$server"
wait "$worker" "$server" 2>/dev/null
ok "nothing is left" really_none_left
done_testing
