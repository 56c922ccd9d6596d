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
ok "a worker that was stopped for longer than its silence is not lost" went_on worker1
netns_link c down
ok "a half-open connection is found: a worker whose host vanishes is lost" \
	end_with 75 "$server" server "worker 1 is lost: 10.93.0.4:[0-9]*: $silent"
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
outage=${OUTAGE:-1}
over=(-H hosts --rsh "ssh -F $T/ssh/config -o ServerAliveInterval=0 {host}" --silence "${SILENCE:-10}" --env STAND --env TALLY_SHARE)
STAND=$T/stand
# survives FILE: the link of host b is down for a while, and the job in FILE trains on.  In the meantime those on host a
# name those on host b, and no neighbour.
dead='; its host or the network does not answer)'
survives() {
	netns_link b down
	line_of "$1" "^server 0: pserver: waiting for worker 1 (.*$dead\$" 1 &&
		line_of "$1" '^worker 0: pworker: waiting for ' 1
	read -rt "$outage" <> <(:)
	netns_link b up
	back=${EPOCHREALTIME/[.,]/}
	line_of "$1" "^worker 1: pworker: waiting for .*server 0 (.*$dead" 1 && went_on "$1" 4 || return
	echo "# it went on by 4 reports $(((${EPOCHREALTIME/[.,]/} - back) / 1000)) ms after the link was back" >back
	! grep -E 'lost|has not answered|away|^worker 0: .* waiting for .*server 0 ' "$1"
}
# Host b sends what is for host a to an address that nobody has; or no more.
lose_packets() { netns_in b ip neigh replace 10.93.0.2 lladdr 02:00:00:00:00:01 nud permanent dev eth0; }
find_again() { netns_in b ip neigh del 10.93.0.2 dev eth0; }
# survives_one_way FILE: nothing that host b sends arrives, while it hears the others.
survives_one_way() {
	local seen
	seen=$(grep -c "^server 0: pserver: waiting for worker 1 (.*$dead\$" "$1")
	lose_packets || return
	line_of "$1" "^server 0: pserver: waiting for worker 1 (.*$dead\$" $((seen + 1))
	find_again
	went_on "$1" 4 && ! grep -E 'lost|has not answered|away' "$1"
}
# How often host b has sent a packet again.
repeats() { netns_in b cat /proc/net/snmp | awk '$1 == "Tcp:" && $13 ~ /[0-9]/ { print $13 }'; }
# survives_losses FILE: for two seconds packets of host b are lost, some at a time.
survives_losses() {
	local i from
	from=$(repeats)
	for i in {1..20}; do
		lose_packets && read -rt 0.03 <> <(:)
		find_again
		read -rt 0.07 <> <(:)
	done
	[ "$(repeats)" -gt "$from" ] && went_on "$1" 4 && ! grep -E 'lost|has not answered|away' "$1"
}
# survives_deaths FILE: server 0 and worker 1 die just before an outage.
survives_deaths() {
	kill -9 "$(real_process --server 0)" "$(real_process --worker 1)"
	netns_link b down
	read -rt "$outage" <> <(:)
	netns_link b up
	went_on "$1" 4
}
netns_in switch dlaunch "${over[@]}" -n 2 -s 2 $train >/dev/null 2>attached & pid=$!
ok "a job over two hosts trains" line_of attached Speed 4
is "$(tr '\0' '\n' <"/proc/$(real_process --worker 0)/environ" | grep TALLY_SILENCE)" "TALLY_SILENCE=${SILENCE:-10}" \
	"the processes of the job have its silence"
ok "a job survives an outage, and names who does not answer" survives attached
cat back
ok "a job survives a link that loses one direction" survives_one_way attached
ok "a job survives a link that loses packets" survives_losses attached
ok "a job survives an outage in which a server and a worker are started again" survives_deaths attached
kill -TERM "$(cat "/proc/$pid/task/$pid/children" | grep . || echo $pid)"
wait "$pid"
is $? 143 "a job ends when it is asked to"
ok "nothing is left" really_none_left
job=$(netns_in switch dlaunch --detach "${over[@]}" -n 2 -s 2 $train)
ok "a detached job over two hosts trains" line_of "$XDG_STATE_HOME/tally/jobs/$job/err" Speed 4
ok "a detached job survives an outage, and names who does not answer" survives "$XDG_STATE_HOME/tally/jobs/$job/err"
cat back
status 0 "the detached job is stopped" netns_in switch dlaunch stop "$job"
ok "nothing of it is left" really_none_left
done_testing
