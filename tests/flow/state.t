# state.t - servers and workers that are killed and started again by hand cost no bit.  KILLS=100 kills as often.
. "$TOP/tests/tap.sh"
. "$TOP/tests/flow/data.sh"

KILLS=${KILLS:-3}
export OMP_NUM_THREADS=1
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$T"' EXIT

# serve I OPTION...: server I of 2, again after each end by SIGKILL.  Its port stays that of the first start.
serve() {
	local i=$1 got listen=127.0.0.1:0
	shift
	while :; do
		pserver --listen "$listen" --workers 2 --server "$i/2" --key-file "$T/key" --state "$T/state$i" \
			--ready-fd 3 3>"$T/at$i" >>"$T/server$i.log" 2>>"$T/server$i.err" & echo $! >"$T/pid$i"
		wait $!
		got=$?
		[ $got -eq 137 ] || return $got
		[ -s "$T/at$i" ] && read -r listen <"$T/at$i"
	done
}
# work W ARGUMENT...: worker W of 2, again after each end by SIGKILL.
work() {
	local w=$1 got
	shift
	while :; do
		pworker "$@" --worker "$w/2" --key-file "$T/key" --seed 7 --state "$T/work$w" \
			>>"$T/$w.log" 2>>"$T/$w.err" & echo $! >"$T/wid$w"
		wait $!
		got=$?
		[ $got -eq 137 ] || return $got
	done
}
listens() { until [ -s "$T/at0" ] && [ -s "$T/at1" ]; do read -rt 0.05 <> <(:); done; }

steps_done() { awk -F '\t' '$5 == "step" { n = $7 } END { print n + 0 }' "$T/0.log"; }
same_bits() { for f in "$T"/whole-*.safetensors; do cmp "$f" "${f/whole/cut}" || return 1; done; }

# job NAME KILLS ARGUMENTS...: 2 servers and 2 workers, of which one or two are killed at random times.  None is killed
# near the end: a process that has removed its state, and is started again, would look for a job that is over.
job() {
	local name=$1 kills=$2 i w pid
	shift 2
	rm -f "$T"/at? "$T"/state? "$T"/pid? "$T"/wid? "$T"/?.log
	for i in 0 1; do serve "$i" & eval "server$i=$!"; done
	listens
	: >"$T/0.log"
	local at
	at=$(cat "$T/at0"),$(cat "$T/at1")
	for w in 0 1; do
		work "$w" "$@" --servers "$at" --save "$T/$name" & eval "worker$w=$!"
	done
	killed=0
	while [ $killed -lt "$kills" ] && kill -0 "$worker0" 2>/dev/null; do
		read -rt 0.$((RANDOM % 400 + 100)) <> <(:)
		case $((RANDOM % 4)) in
		0) pid=$(cat "$T/pid0") ;; 1) pid=$(cat "$T"/pid?) ;; 2) pid=$(cat "$T/wid1") ;; 3) pid=$(cat "$T/pid1" "$T/wid0") ;;
		esac
		[ "$(steps_done)" -lt $((KILLS * 30)) ] || break
		# shellcheck disable=SC2086
		kill -9 $pid 2>/dev/null && killed=$((killed + 1))
	done
	wait "$worker0" && wait "$worker1" && wait "$server0" && wait "$server1"
}

have mnist || { skip "servers and workers that are killed" "$WHY"; done_testing; }
(umask 077; head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$T/key")
for rule in sgd adam lars; do
	set -- --net lenet --data "$MNIST_TEST" --scale 0.00390625 --batch 32 --lr 0.01 --optimizer $rule --steps $((KILLS * 50))
	ok "$rule: an undisturbed job of 2 workers and 2 servers" job whole 0 "$@"
	ok "$rule: a job whose processes are killed goes on by itself" job cut "$KILLS" "$@"
	ok "$rule: processes were killed $killed times" test "$killed" -gt 0
	ok "$rule: the weights have the bits of the undisturbed job" same_bits
	ok "$rule: nothing is left of the state" test ! -e "$T/state0" -a ! -e "$T/state1" -a ! -e "$T/work0" -a ! -e "$T/work1"
	rm -f "$T"/*.safetensors
done
# A worker whose step cannot end, as the other one is stopped, is asked to end at once.
rm -f "$T/at0"
touch "$T"/twice{0,1}.log
pserver --listen 127.0.0.1:0 --workers 2 --key-file "$T/key" --ready-fd 3 3>"$T/at0" >"$T/twice.log" 2>"$T/twice.err" & server=$!
until [ -s "$T/at0" ]; do read -rt 0.05 <> <(:); done
for w in 0 1; do
	pworker --net lenet --data "$MNIST_TEST" --scale 0.00390625 --batch 32 --epochs 1000 --servers "$(cat "$T/at0")" \
		--worker $w/2 --key-file "$T/key" --state "$T/twice$w" >"$T/twice$w.log" 2>"$T/err" & eval "worker$w=$!"
done
until grep -q '	step	' "$T/twice0.log" && grep -q '	step	' "$T/twice1.log"; do
	kill -0 $worker0 || break
	read -rt 0.05 <> <(:)
done
kill -STOP "$worker1"
while grep -qs '^State:.[^Z]' "/proc/$worker0/status"; do kill -TERM "$worker0"; read -rt 0.1 <> <(:); done
wait "$worker0"
is $? 143 "a second SIGTERM ends a worker at once"
wait "$server"
is $? 75 "the servers of an ended worker end"
like "$T/twice.err" '^pserver: worker 0 is lost: it was asked to end at once$' "the server says why"
ok "the server does not wait for a return" test "$(grep -c 'is away' "$T/twice.err")" -eq 0
kill -9 "$worker1"
wait "$worker1" 2>"$T/err"
done_testing
