# netstat-logging.t - the traffic of an interface, of a command and of a log's epochs.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
talk=$TOP/tests/cmd/talk.pl

# A peer that counts what it gets; $port is where, its count is in got when hushed.
serve() {
	rm -f port hold && mkfifo hold
	perl "$talk" serve port <hold >got &
	server=$!
	exec 7>hold
	until [ -s port ]; do kill -0 $server || return 1; done
	port=$(cat port)
}
hush() { exec 7>&-; wait $server; }
cell() { awk -F '\t' -v c="$2" '$1 == "time_s" { for (i = 1; i <= NF; i++) if ($i == c) n = i } $5 == "end" { print $n }' "$1"; }
# What TCP has sent a second time on this machine, ever; what it did counts as traffic of packets, not of calls.
resent() { awk '$1 == "Tcp:" && $13 ~ /^[0-9]+$/ { print $13 }' /proc/net/snmp; }
# to_the_byte GOT WANT BEFORE: so many bytes, and none more unless by packets something was sent again since BEFORE.
to_the_byte() {
	echo "got $1, want $2, $(resent) segments sent again, $3 of them before"
	[ "$1" = "$2" ] || { [ "$how" != calls ] && [ "$1" -gt "$2" ] && [ "$(resent)" -gt "$3" ]; }
}
within() { awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(b > 0 && d * d <= b * b / 10000) }'; }

# Interfaces.
status 0 "the loopback, for a while" netstat-logging -i lo -p 0.1 -d 0.55
is "$(grep -v '^#' out | sed 1q | tr '\t' ' ')" \
	"time_s clock host interface event seconds rx_bytes tx_bytes rx_packets tx_packets rx_wire_bytes tx_wire_bytes" "columns"
# rows FILE: each has as many seconds as have passed since the one before, no two are of one period, and the end's are all.
# A period that nobody had the time to end is a part of the next.
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
ok "a line a period, one for the rest, and one for all" rows out
# A hundredth of a period in which nothing came is no row.
ok "... over all of that while, no more" awk -F '\t' '{ print } $5 == "period" { n++ } $5 == "end" { end = $1 }
	END { exit n > 6 || end < 0.548 }' out
like out '^[0-9]+\.[0-9]{3}	20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z	' "... with the date"
like err '^ lo  /  traffic statistics$' "a summary"
is "$(wc -l <err)" 19 "... of one interface"
status 0 "no summary, JSON" netstat-logging -q -i lo -p 0.1 -d 0.2 --json
is "$(cat err)" "" "... quiet"
is "$(perl -MJSON::PP -ne '$r = decode_json($_); print "$r->{interface} $r->{event} ", exists $r->{rx_packets}, "\n"' out | uniq |
	paste -sd,)" "lo period 1,lo end 1" "... objects"
status 0 "into a file" netstat-logging -q -i lo -d 0.1 -o rows.tsv
is "$(cat out)" "" "... and not to standard output"
is "$(cell rows.tsv event)" end "... whole"
status 2 "an interface that is not there" netstat-logging -i nosuch -d 0.1
like err '^netstat-logging: nosuch: no such interface; there are .*\blo\b' "... is told, and which there are"
status 1 "nowhere to write" sh -c 'netstat-logging -i lo -d 0.1 >/dev/full'
like err '^netstat-logging: standard output: .*No space' "... is told"

serve
env --default-signal=INT netstat-logging -i lo -p 0.1 >rows.tsv 2>err &
log=$!
until [ "$(grep -c period rows.tsv)" -ge 6 ]; do kill -0 $log || break; done
perl "$talk" send "$port" 1 20000000
kill -INT $log
wait $log
is $? 0 "SIGINT ends it well"
ok "... its rows whole" rows rows.tsv
ok "... and the traffic is in it" test "$(cell rows.tsv tx_bytes)" -ge 20000000
# Others may use the loopback at the same time.
ok "... and in the summary" grep -Eq '^  bytes +([1-9][0-9]+\.[0-9]{2} MiB|[0-9.]+ GiB) ' err

# An interface that goes away and comes back, as another one of its name that counts from 0.
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
	is "$away $(paste -sd, err)" "1 netstat-logging: t0: gone,netstat-logging: t0: back" "an interface that goes away and comes back"
	ok "... counts on" test "$(cell rows.tsv tx_bytes)" -lt 1000000
else
	skip "an interface that goes away" "$(head -n 1 why)"
fi

# Commands.
groups() { find /sys/fs/cgroup -maxdepth 4 -name 'tally.*' 2>/dev/null | sort; }
groups >groups
if netstat-logging -q --count packets true 2>why; then by="packets calls"; else by=calls; skip "by packets" "$(cat why)"; fi
for how in $by; do
	rm -f again
	before=$(resent)
	export TALK_AGAIN=$T/again
	status 0 "$how: a thousand short connections and a long one" netstat-logging -q --count $how -o rows.tsv -- \
		sh -c 'perl "$1" send "$2" 1000 1000 2 & perl "$1" send "$2" 1 30000000; wait' sh "$talk" "$port"
	unset TALK_AGAIN
	# What TCP sends a second time is traffic of packets, not of calls.
	again=$(test "$how" = calls && echo 0 || awk '{ n += $1 } END { print n + 0 }' again)
	ok "... are counted to a hundredth: $(cell rows.tsv tx_bytes) bytes, $again of them again" \
		within "$(cell rows.tsv tx_bytes)" $((32000000 + again))
	ok "... and the answers to the byte" to_the_byte "$(cell rows.tsv rx_bytes)" $((2001 * 2)) "$before"
	is "$(cell rows.tsv interface)" command "... as the command's"
	status 3 "$how: a status comes through" netstat-logging -q --count $how -- sh -c 'exit 3'
	status 143 "... and a signal" netstat-logging -q --count $how -- sh -c 'kill $$'
	status 127 "$how: a command that is not there" netstat-logging --count $how -- ./nosuch
	is "$(cat err)" "netstat-logging: the command: ./nosuch: No such file or directory" "... is told"
	status 126 "$how: one that cannot be run" netstat-logging --count $how -- /dev
	echo in >asked
	status 0 "$how: what a command writes and is asked" netstat-logging -q --count $how -- sh -c "cat; echo out" <asked
	is "$(cat out)" "in
out" "... is its own"
	before=$(resent)
	status 0 "$how: all of its processes are waited for" netstat-logging -q --count $how -o rows.tsv -- \
		sh -c '(perl "$1" send "$2" 3 100000; echo late) & exec true' sh "$talk" "$port"
	is "$(cat out)" late "... to the last"
	ok "... and counted" to_the_byte "$(cell rows.tsv tx_bytes)" 300000 "$before"
	status 0 "$how: files and pipes do not count" netstat-logging -q --count $how -o rows.tsv -- \
		sh -c 'head -c 100000 /dev/zero | cat >zeros; perl -MSocket -e "socketpair(my \$a, my \$b, AF_UNIX, SOCK_STREAM, 0);
			syswrite(\$a, q(x) x 1000)"'
	is "$(cell rows.tsv tx_bytes) $(cell rows.tsv rx_bytes)" "0 0" "... at all"
	netstat-logging -q --count $how -- sh -c 'trap "echo ended; exit 5" TERM; echo ready; while :; do read -r x; done' >out <hold &
	log=$!
	until grep -q ready out; do kill -0 $log || break; done
	kill $log
	wait $log
	is "$? $(tail -n 1 out)" "5 ended" "$how: SIGTERM is the command's"
done
hush
is "$(tail -n 1 got)" "$((20000000 + $(echo "$by" | wc -w) * 32300000))" "the peer got as much"
# Those of others who run at this time have processes in them.
groups | comm -13 groups - | while read -r g; do grep -s 'populated 0' "$g/cgroup.events"; done >left
is "$(cat left)" "" "no control group is left"
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$BUILD/netstat-logging" 2>/dev/null; then
	status 0 "without rights, by calls" setpriv --reuid 65534 --regid 65534 --clear-groups netstat-logging -q true
	status 1 "... and not by packets" setpriv --reuid 65534 --regid 65534 --clear-groups netstat-logging --count packets true
	like err '^netstat-logging: its traffic cannot be counted: ' "... which is told"
else
	skip "without rights" "not root, or another user cannot reach the build"
fi

# A log that passes.
head=$(echo time_s host role rank event epoch step samples loss accuracy samples_per_s lr wait_s sent_bytes received_bytes | tr ' ' '\t')
{
	echo "$head"
	printf '1\th\tworker\t0\t%s\t0\t\t\t\t\t\t\t\t\t\n' step epoch
	echo 'INFO:root:Epoch[0] Time cost=9.5'
	echo 'epoch 1 is over'
	printf tail
} >log
status 0 "a log passes" sh -c 'netstat-logging -q -i lo --filter --mark "^epoch .* over$" <log'
is "$(sed 's/\(.*\)	[0-9][0-9]*	[0-9][0-9]*$/\1	R	T/; s/[rt]x=[0-9]* /N /g' out)" "$head	nic_rx_bytes	nic_tx_bytes
$(sed -n 2p log)
$(sed -n 3p log)	R	T
INFO:root:Epoch[0] Time cost=9.5
INFO:root:Epoch[0] Traffic N N bytes
epoch 1 is over
Traffic N N bytes
tail" "... with the traffic at its marks"
serve
before=$(resent)
# The next epoch's traffic begins when the line of the one before has passed.
status 0 "a command's log passes" netstat-logging --filter -o rows.tsv -- \
	sh -c 'perl "$1" send "$2" 1 5000; echo "Epoch[0] Time cost=1"
		until grep -q Traffic out; do :; done
		perl "$1" send "$2" 2 1000; echo "Epoch[1] Time cost=1"' sh "$talk" "$port"
how=$(sed -n 's/^#.* count=//p' rows.tsv)
read -r rx1 tx1 rx2 tx2 <<<"$(sed -n 's/^Epoch.*Traffic rx=\([0-9]*\) tx=\([0-9]*\) bytes$/\1 \2/p' out | paste -sd' ')"
ok "... with its own traffic in an epoch" to_the_byte "$tx1" 5000 "$before"
ok "... and the answers to it" to_the_byte "$rx1" 2 "$before"
ok "... and in the next" to_the_byte "$tx2" 2000 "$before"
ok "... and to that" to_the_byte "$rx2" 4 "$before"
ok "... which makes up the whole" to_the_byte "$(cell rows.tsv tx_bytes)" 7000 "$before"
like err 'traffic statistics' "... and a summary"
hush

for o in '-p 0' '-d x' '--count bytes true' '--count calls' '--mark x' '--filter -o -' '-i lo true' '-d 1 true' '-i lo -i lo' \
	'--filter --mark ('; do
	# shellcheck disable=SC2086
	status 2 "wrong: $o" netstat-logging $o
	is "$(wc -l <err)" 1 "... in a line"
done
status 0 "--version" netstat-logging --version
like out '^netstat-logging \(tally\) [0-9]' "... tells it"
done_testing
