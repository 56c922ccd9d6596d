# netstat-logging.t - the traffic of an interface, of a command and of the epochs of a log.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
talk=$TOP/tests/cmd/talk.pl

# Starts a peer that listens at $port.  stop_serving stops it; it then writes the bytes that it received to the file got.
serve() {
	rm -f port hold && mkfifo hold
	perl "$talk" serve port <hold >got &
	server=$!
	exec 7>hold
	until [ -s port ]; do kill -0 $server || return 1; done
	port=$(cat port)
}
stop_serving() { exec 7>&-; wait $server; }
cell() { awk -F '\t' -v c="$2" '$1 == "time_s" { for (i = 1; i <= NF; i++) if ($i == c) n = i } $5 == "end" { print $n }' "$1"; }
# The segments that TCP has retransmitted on this machine.  They count as traffic of packets, not of calls.
resent() { awk '$1 == "Tcp:" && $13 ~ /^[0-9]+$/ { print $13 }' /proc/net/snmp; }
# to_the_byte GOT WANT BEFORE: exactly WANT bytes, or more if counted by packets and TCP has retransmitted since BEFORE.
to_the_byte() {
	echo "got $1, want $2, $(resent) segments sent again, $3 of them before"
	[ "$1" = "$2" ] || { [ "$how" != calls ] && [ "$1" -gt "$2" ] && [ "$(resent)" -gt "$3" ]; }
}
within() { awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(b > 0 && d * d <= b * b / 10000) }'; }

# Interfaces.
status 0 "netstat-logging logs the loopback interface for 0.55 s" netstat-logging -i lo -p 0.1 -d 0.55
is "$(grep -v '^#' out | sed 1q | tr '\t' ' ')" \
	"time_s clock host interface event seconds rx_bytes tx_bytes rx_packets tx_packets rx_wire_bytes tx_wire_bytes" \
	"the log has the documented columns"
# rows FILE: each row has the seconds since the row before, no two rows are of one period, and the last row has the sum.
# On a busy machine one row may cover several periods.
rows() {
	awk -F '\t' 'function off(a, b, by) { return a - b > by || b - a > by }
		{ print }
		/^#/ || $1 == "time_s" { next }
		$4 != "lo" || over { bad = "a row of what?" }
		$5 == "period" { n++; if (off($6, $1 - at, 0.0021)) bad = "seconds"
			if (early) bad = "two rows in a period"
			k = int($1 * 10 + 0.001); near += k == before + 1; early = k <= before; before = k; at = $1; sum += $6 }
		$5 == "end" { over = 1
			if (off($6, $1, 0.0011) || off($6, sum, 0.0011 * (n + 1)) || off($1, at, 0.0001)) bad = "the whole" }
		END { if (bad != "") print bad; exit bad != "" || !over || n == 0 || near == 0 && n > 5 }' "$1"
}
ok "the log has a row for each period, for the rest and for the whole" rows out
# A hundredth of a period without traffic has no row.
ok "the rows cover exactly that time" awk -F '\t' '{ print } $5 == "period" { n++ } $5 == "end" { end = $1 }
	END { exit n > 6 || end < 0.548 }' out
like out '^[0-9]+\.[0-9]{3}	20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z	' "a row has the date"
like err '^ lo  /  traffic statistics$' "a summary is printed"
is "$(wc -l <err)" 19 "the summary has one interface"
status 0 "netstat-logging writes JSON" netstat-logging -q -i lo -p 0.1 -d 0.2 --json
is "$(cat err)" "" "-q omits the summary"
is "$(perl -MJSON::PP -ne '$r = decode_json($_); print "$r->{interface} $r->{event} ", exists $r->{rx_packets}, "\n"' out | uniq |
	paste -sd,)" "lo period 1,lo end 1" "each line of JSON is an object"
status 0 "netstat-logging writes a file" netstat-logging -q -i lo -d 0.1 -o rows.tsv
is "$(cat out)" "" "-o leaves standard output empty"
is "$(cell rows.tsv event)" end "the file is complete"
status 2 "an interface that does not exist is refused" netstat-logging -i nosuch -d 0.1
like err '^netstat-logging: nosuch: no such interface; choose from .*\blo\b' "the message lists the interfaces"
cp rows.tsv kept.tsv
status 2 "an interface that does not exist is refused before the file is written" netstat-logging -o kept.tsv -i nosuch
status 127 "a command that does not exist is refused before the file is written" netstat-logging -o kept.tsv ./nosuch
ok "the file is as before" cmp rows.tsv kept.tsv
status 2 "--filter refuses to write over its input" netstat-logging --filter -o kept.tsv <kept.tsv
ok "the input is as before" cmp rows.tsv kept.tsv
status 0 "a longer file is replaced" sh -c 'yes line | head -5000 >long.tsv; netstat-logging -q -i lo -d 0.1 -o long.tsv'
is "$(grep -c '^line' long.tsv)" 0 "no line of it is left"
status 0 "-o - writes to standard output" sh -c 'echo kept >both.tsv; netstat-logging -q -i lo -d 0.1 -o - >>both.tsv'
is "$(head -1 both.tsv)" kept "-o - keeps what standard output has"
status 1 "a full disk ends netstat-logging" sh -c 'netstat-logging -i lo -d 0.1 >/dev/full'
like err '^netstat-logging: standard output: .*No space' "the message names the full disk"

serve
env --default-signal=INT netstat-logging -i lo -p 0.1 >rows.tsv 2>err &
log=$!
until [ "$(grep -c period rows.tsv)" -ge 6 ]; do kill -0 $log || break; done
perl "$talk" send "$port" 1 20000000
kill -INT $log
wait $log
is $? 0 "SIGINT ends netstat-logging with status 0"
ok "the rows are complete after SIGINT" rows rows.tsv
ok "the rows have the traffic" test "$(cell rows.tsv tx_bytes)" -ge 20000000
# Others may use the loopback at the same time.
ok "the summary has the traffic" grep -Eq '^  bytes +([1-9][0-9]+\.[0-9]{2} MiB|[0-9.]+ GiB) ' err

# An interface that is removed and made again, with counters from 0.
cat >away <<'END'
plug() { ip link add t0 type veth peer name t1 && ip link set t0 up && ip link set t1 up; }
until_has() { until grep -q "$1" "$2"; do kill -0 $log || exit; done; }
plug || exit 77
env --default-signal=INT netstat-logging -q -i t0 -p 0.1 >rows.tsv 2>err &
log=$!
until_has period rows.tsv
ip link del t0
until_has gone err
plug
until_has back err
kill -INT $log
wait $log
END
rm -f rows.tsv
unshare -n sh away >out 2>why
away=$?
if [ $away != 77 ] && [ -s rows.tsv ]; then
	is "$away $(paste -sd, err)" "1 netstat-logging: t0: gone,netstat-logging: t0: back" \
		"netstat-logging reports an interface that goes away and comes back"
	ok "the counters of the new interface are added to the old ones" test "$(cell rows.tsv tx_bytes)" -lt 1000000
else
	skip "an interface that goes away" "$(head -n 1 why)"
fi

# The same between two marks, of which no row has been written.
cat >away_marked <<'END'
ip link set lo up && ip link add t0 type veth peer name t1 && ip link set t0 up && ip link set t1 up && ip addr add 10.9.9.1/24 dev t0 &&
	ip neigh add 10.9.9.2 lladdr 00:00:5e:00:53:01 dev t0 || exit 77
send() { perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(Proto => "udp", PeerAddr => "'$1'", PeerPort => 9);
	$s->send("x" x 1000) for 1 .. 100'; }
mark() { echo "Epoch[$1] Time cost=1.0" >&3; until grep -q "^Epoch.$1. Traffic" marks; do kill -0 $log || exit; done; }
mkfifo pipe
netstat-logging -q -i lo -i t0 -p 1000 --filter -o rows.tsv <pipe >marks 2>err &
log=$!
exec 3>pipe
send 127.0.0.1
send 10.9.9.2
mark 0
ip link del t0
mark 1
exec 3>&-
wait $log
END
rm -f rows.tsv
unshare -n sh away_marked >out 2>why
away=$?
if [ $away != 77 ]; then
	ok "a mark after an interface has gone counts nothing again: $(tail -n 1 marks)" \
		grep -q '^Epoch.1. Traffic rx=[0-9]\{1,4\} tx=[0-9]\{1,4\} bytes' marks
	is "$(awk -F '\t' '$5 == "end" { n += $8 } END { print n + 0 }' rows.tsv)" \
		"$(sed -n 's/^.* tx=//p' marks | awk '{ n += $1 } END { print n + 0 }')" \
		"the rows of an interface that has gone have all that the marks have"
else
	skip "an interface that goes away between marks" "$(head -n 1 why)"
fi

# Commands.
groups() { find /sys/fs/cgroup -maxdepth 4 -name 'tally.*' 2>/dev/null | sort; }
groups >groups
if netstat-logging -q --count packets true 2>why; then by="packets calls"; else by=calls; skip "by packets" "$(cat why)"; fi
for how in $by; do
	rm -f again
	before=$(resent)
	export TALK_AGAIN=$T/again
	status 0 "$how: netstat-logging counts a thousand short connections and a long one" netstat-logging -q --count $how -o rows.tsv -- \
		sh -c 'perl "$1" send "$2" 1000 1000 2 & perl "$1" send "$2" 1 30000000; wait' sh "$talk" "$port"
	unset TALK_AGAIN
	# Retransmitted bytes are traffic of packets, not of calls.
	again=$(test "$how" = calls && echo 0 || awk '{ n += $1 } END { print n + 0 }' again)
	ok "$how: sent bytes are right within 1 %: $(cell rows.tsv tx_bytes) bytes, $again of them retransmitted" \
		within "$(cell rows.tsv tx_bytes)" $((32000000 + again))
	ok "$how: received bytes are right to the byte" to_the_byte "$(cell rows.tsv rx_bytes)" $((2001 * 2)) "$before"
	is "$(cell rows.tsv interface)" command "$how: the interface is named command"
	status 3 "$how: the exit status is the command's" netstat-logging -q --count $how -- sh -c 'exit 3'
	status 0 "$how: netstat-logging sleeps while the command runs" netstat-logging -q --count $how -- \
		sh -c 'for i in $(seq 20000); do read -r _ _ state _ </proc/$PPID/stat; test "$state" != S || exit 0; done; exit 1'
	status 1 "$how: a command runs on if its rows cannot be written" \
		netstat-logging --count $how -o /dev/full -- echo ran
	is "$(cat out) $(sed 1q err)" "ran netstat-logging: /dev/full: write: No space left on device" "$how: one line is about the rows"
	netstat-logging -q --count $how --filter -- sh -c 'trap "" PIPE; seq 100000; echo $? >closed' 2>err | head -n 1 >first
	is "$(cat first closed)" "1
1" "$how: a command learns that nobody reads its log"
	status 143 "$how: the exit status has the command's signal" netstat-logging -q --count $how -- sh -c 'kill $$'
	status 127 "$how: a command that does not exist has status 127" netstat-logging --count $how -- ./nosuch
	is "$(cat err)" "netstat-logging: the command: ./nosuch: No such file or directory" "$how: the message names the command"
	status 126 "$how: a command that cannot be executed has status 126" netstat-logging --count $how -- /dev
	echo in >asked
	status 0 "$how: the command has standard input and output" netstat-logging -q --count $how -- sh -c "cat; echo out" <asked
	is "$(cat out)" "in
out" "$how: the command's input and output are unchanged"
	before=$(resent)
	status 0 "$how: netstat-logging waits for all processes of the command" netstat-logging -q --count $how -o rows.tsv -- \
		sh -c '(perl "$1" send "$2" 3 100000; echo late) & exec true' sh "$talk" "$port"
	is "$(cat out)" late "$how: the last process has ended"
	ok "$how: its bytes are counted" to_the_byte "$(cell rows.tsv tx_bytes)" 300000 "$before"
	status 0 "$how: netstat-logging watches a command with files, pipes and local sockets" \
		netstat-logging -q --count $how -o rows.tsv -- \
		sh -c 'head -c 100000 /dev/zero | cat >zeros; perl -MSocket -e "socketpair(my \$a, my \$b, AF_UNIX, SOCK_STREAM, 0);
			syswrite(\$a, q(x) x 1000)"'
	is "$(cell rows.tsv tx_bytes) $(cell rows.tsv rx_bytes)" "0 0" "$how: files, pipes and local sockets do not count"
	netstat-logging -q --count $how -- sh -c 'trap "echo ended; exit 5" TERM; echo ready; while :; do read -r x; done' >out <hold &
	log=$!
	until grep -q ready out; do kill -0 $log || break; done
	kill $log
	wait $log
	is "$? $(tail -n 1 out)" "5 ended" "$how: SIGTERM is passed on to the command"
done
stop_serving
is "$(tail -n 1 got)" "$((20000000 + $(echo "$by" | wc -w) * 32300000))" "the peer received as many bytes"
# Groups of other tests that run at this time have processes in them.
groups | comm -13 groups - | while read -r g; do grep -s 'populated 0' "$g/cgroup.events"; done >left
is "$(cat left)" "" "netstat-logging removes its control groups"
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$BUILD/netstat-logging" 2>/dev/null; then
	status 0 "without rights, traffic is counted by calls" setpriv --reuid 65534 --regid 65534 --clear-groups netstat-logging -q true
	status 1 "without rights, traffic cannot be counted by packets" \
		setpriv --reuid 65534 --regid 65534 --clear-groups netstat-logging --count packets true
	like err '^netstat-logging: its traffic cannot be counted: ' "the message gives the reason"
else
	skip "counting without rights" "not root, or another user cannot reach the build"
fi

# The filter.
head=$(echo time_s host role rank event epoch step samples loss accuracy samples_per_s lr wait_s sent_bytes received_bytes | tr ' ' '\t')
{
	echo "$head"
	printf '1\th\tworker\t0\t%s\t0\t\t\t\t\t\t\t\t\t\n' step epoch
	echo 'INFO:root:Epoch[0] Time cost=9.5'
	echo 'epoch 1 is over'
	printf tail
} >log
status 0 "--filter copies a log" sh -c 'netstat-logging -q -i lo --filter --mark "^epoch .* over$" <log'
is "$(sed 's/\(.*\)	[0-9][0-9]*	[0-9][0-9]*$/\1	R	T/; s/[rt]x=[0-9]* /N /g' out)" "$head	nic_rx_bytes	nic_tx_bytes
$(sed -n 2p log)
$(sed -n 3p log)	R	T
INFO:root:Epoch[0] Time cost=9.5
INFO:root:Epoch[0] Traffic N N bytes
epoch 1 is over
Traffic N N bytes
tail" "the traffic follows epochs and lines that match --mark"
serve
before=$(resent)
# The next epoch's traffic begins when the line of the epoch before has been copied.
status 0 "--filter copies the log of a command" netstat-logging --filter -o rows.tsv -- \
	sh -c 'perl "$1" send "$2" 1 5000; echo "Epoch[0] Time cost=1"
		until grep -q Traffic out; do :; done
		perl "$1" send "$2" 2 1000; echo "Epoch[1] Time cost=1"' sh "$talk" "$port"
how=$(sed -n 's/^#.* count=//p' rows.tsv)
read -r rx1 tx1 rx2 tx2 <<<"$(sed -n 's/^Epoch.*Traffic rx=\([0-9]*\) tx=\([0-9]*\) bytes$/\1 \2/p' out | paste -sd' ')"
ok "the first epoch has its sent bytes" to_the_byte "$tx1" 5000 "$before"
ok "the first epoch has its received bytes" to_the_byte "$rx1" 2 "$before"
ok "the second epoch has its sent bytes" to_the_byte "$tx2" 2000 "$before"
ok "the second epoch has its received bytes" to_the_byte "$rx2" 4 "$before"
ok "the rows have the bytes of both epochs" to_the_byte "$(cell rows.tsv tx_bytes)" 7000 "$before"
like err 'traffic statistics' "a summary is printed after the log"
stop_serving

for o in '-p 0' '-d x' '--count bytes true' '--count calls' '--mark x' '--filter -o -' '-i lo true' '-d 1 true' '-i lo -i lo' \
	'--filter --mark ('; do
	# shellcheck disable=SC2086
	status 2 "netstat-logging $o is refused" netstat-logging $o
	is "$(wc -l <err)" 1 "the refusal of $o is one line"
done
status 0 "--version succeeds" netstat-logging --version
like out '^netstat-logging \(tally\) [0-9]' "--version prints the version"
done_testing
