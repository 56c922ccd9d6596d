# outage.t - hosts that vanish are found by the workers and servers themselves; shorter outages and stopped processes are not.
# OUTAGE=60 SILENCE=90 makes the outage that jobs survive as long.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
. "$TOP/tests/netns.sh"
. "$TOP/tests/sshd.sh"
. "$TOP/tests/flow/data.sh"
export OMP_NUM_THREADS=1 XDG_STATE_HOME=$T/state
away() {
	really_living | xargs -r kill -9
	sshd_stop
	netns_away
	rm -rf "$T"
}
trap away EXIT
have mnist || { echo "1..0 # SKIP $WHY"; exit 0; }
netns_make a b c || { echo "1..0 # SKIP no network namespaces: $(tail -n 1 "$T/netns")"; exit 0; }
cd "$T" || exit 1
(umask 077; head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >key)
train="pworker --net lenet --data $MNIST_TEST --batch 32 --frequent 5 --epochs 100000"

# by_hand SILENCE: a server on host a, worker 0 on b, worker 1 on c; their processes are $server, $worker0 and $worker1.
by_hand() {
	export TALLY_SILENCE=$1
	ip netns exec "$(netns_of a)" pserver --listen 10.93.0.2:4000 --workers 2 --key-file key >/dev/null 2>server & server=$!
	ip netns exec "$(netns_of b)" $train --servers 10.93.0.2:4000 --worker 0/2 --key-file key >/dev/null 2>worker0 & worker0=$!
	ip netns exec "$(netns_of c)" $train --servers 10.93.0.2:4000 --worker 1/2 --key-file key >/dev/null 2>worker1 & worker1=$!
	unset TALLY_SILENCE
	line_of worker1 Speed 2
}
# went_on FILE [N]: 2 or N more lines of progress.
went_on() { line_of "$1" Speed $(($(grep -c Speed "$1") + ${2:-2})); }
# end_with STATUS PID FILE PATTERN
end_with() {
	wait "$2"
	local got=$?
	tail -n 1 "$3" | grep -q "$4" && [ $got -eq "$1" ] || { echo "status $got"; cat "$3"; return 1; }
}
silent='its host or the network has not answered for [1-9][0-9]* s$'

ok "a job by hand trains" by_hand 1
kill -STOP "$worker1"
ok "the others wait for a worker that is stopped" line_of worker0 'waiting for worker 1$' 2
kill -CONT "$worker1"
ok "a worker that goes on after more than its silence is not lost" went_on worker1
netns_link c down
ok "a worker whose host vanishes is lost" end_with 75 "$server" server "worker 1 is lost: 10.93.0.4:[0-9]*: $silent"
ok "the other worker names it" end_with 75 "$worker0" worker0 "worker 1 is lost: 10.93.0.4:[0-9]*: $silent"
ok "the worker whose host vanished loses the server" end_with 75 "$worker1" worker1 "server 0: 10.93.0.2:4000: $silent"
netns_link c up

sshd_setup || { skip "jobs over ssh" "no sshd that lets this user in"; done_testing; }
i=1
for h in a b c; do
	i=$((i + 1))
	ok "host $h runs sshd" sshd_start $h "10.93.0.$i" 22 ip netns exec "$(netns_of $h)"
done
printf 'a\nb\n' >hosts
outage=${OUTAGE:-3}
over=(-H hosts --rsh "ssh -F $T/ssh/config -o ServerAliveInterval=0 {host}" --silence "${SILENCE:-10}" --env STAND --env TALLY_SHARE)
STAND=$T/stand
# survives FILE: the link of host b is down for a while, and the job in FILE trains on.
survives() {
	netns_link b down
	read -rt "$outage" <> <(:)
	netns_link b up
	went_on "$1" 4 && ! grep -E 'lost|has not answered|away' "$1"
}
netns_in switch dlaunch "${over[@]}" -n 2 -s 2 $train >/dev/null 2>attached & pid=$!
ok "a job over two hosts trains" line_of attached Speed 4
is "$(tr '\0' '\n' <"/proc/$(real_process --worker 0)/environ" | grep TALLY_SILENCE)" "TALLY_SILENCE=${SILENCE:-10}" \
	"the processes of the job have its silence"
ok "a job survives an outage of $outage s" survives attached
kill -TERM "$(cat "/proc/$pid/task/$pid/children" | grep . || echo $pid)"
wait "$pid"
is $? 143 "a job ends when it is asked to"
ok "nothing is left" really_none_left
job=$(netns_in switch dlaunch --detach "${over[@]}" -n 2 -s 2 $train)
ok "a detached job over two hosts trains" line_of "$XDG_STATE_HOME/tally/jobs/$job/err" Speed 4
ok "a detached job survives an outage of $outage s" survives "$XDG_STATE_HOME/tally/jobs/$job/err"
status 0 "the detached job is stopped" netns_in switch dlaunch stop "$job"
ok "nothing of it is left" really_none_left
done_testing
