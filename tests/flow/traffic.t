# traffic.t - netstat-logging between network namespaces: beside vnstat, and on a link that is removed and added again.
. "$TOP/tests/tap.sh"
away() {
	kill -9 $(jobs -p) 2>/dev/null
	for n in a b; do ip netns del "tally$$$n" 2>/dev/null; done
	rm -rf "$T"
}
trap away EXIT
cd "$T" || exit 1
talk=$TOP/tests/cmd/talk.pl

link() { # connects eth0 of a to eth0 of b
	ip -n "tally$$a" link add name eth0 type veth peer name eth0 netns "tally$$b" &&
		ip -n "tally$$a" addr add 10.94.0.1/24 dev eth0 && ip -n "tally$$b" addr add 10.94.0.2/24 dev eth0 &&
		ip -n "tally$$a" link set eth0 up && ip -n "tally$$b" link set eth0 up
}
if [ "$(id -u)" != 0 ] || ! { ip netns add "tally$$a" && ip netns add "tally$$b" && link; } >netns 2>&1; then
	echo "1..0 # SKIP not root, or ip netns does not work"
	exit 0
fi
in_a() { ip netns exec "tally$$a" "$@"; }
in_b() { ip netns exec "tally$$b" "$@"; }
sum() { awk -F '\t' -v c="$2" '$1 == "time_s" { for (i = 1; i <= NF; i++) if ($i == c) n = i } $5 == "end" { print $n }' "$1"; }
until_row() { until [ "$(grep -cs "$2" "$1")" -ge "$3" ]; do kill -0 "$4" 2>/dev/null || return 1; read -rt 0.05 <>pause; done; true; }
mkfifo pause hold
touch rows.tsv

ip netns exec "tally$$b" perl "$talk" serve port 10.94.0.2 <hold >got &
exec 7>hold
until [ -s port ]; do read -rt 0.05 <>pause; done
export TALK_AGAIN=$T/again
send() { in_a perl "$talk" send "$(cat port)" "$1" "$2" 1 10.94.0.2; }

status 2 "netstat-logging without -i needs a default route" in_a netstat-logging -d 0.1
like err 'no default route; choose an interface with -i from lo, eth0' "the error lists the interfaces"
ip -n "tally$$a" route add default via 10.94.0.2
status 0 "netstat-logging finds the default route" in_a netstat-logging -q -d 0.1
is "$(grep -c '	eth0	' out)" 2 "netstat-logging counts that route's interface"

# The counters of a link that is added again start at 0.
# In the background without a function, so that $! is the program itself.
ip netns exec "tally$$a" netstat-logging -i eth0 -p 0.1 >rows.tsv 2>err &
log=$!
ok "netstat-logging counts a link" until_row rows.tsv period 1 $log
send 1 1000000
until_row rows.tsv period "$(($(grep -c period rows.tsv) + 2))" $log
ip -n "tally$$a" link del eth0
until_row err 'eth0: gone' 1 $log
link
until_row err 'eth0: back' 1 $log
send 1 2000000
until_row rows.tsv period "$(($(grep -c period rows.tsv) + 2))" $log
kill $log
wait $log
is $? 1 "the status at the end reports the missing link"
is "$(grep -c eth0: err)" 2 "two messages report when the link was gone and back"
n=$(sum rows.tsv tx_bytes)
again=$(awk '{ n += $1 } END { print n + 0 }' again)
ok "bytes before and after the interruption are counted: $n bytes, $again of them sent again" \
	test "$n" -ge 3000000 -a "$n" -le $((3100000 + again + again / 10))

# vnstat sums up only after 10 s, in periods of 2 s; our first period may end at once, or late.
if command -v vnstat >/dev/null; then
	ip netns exec "tally$$a" env --default-signal=INT vnstat -l -i eth0 >vnstat.out 2>&1 &
	vn=$!
	ip netns exec "tally$$a" netstat-logging -p 2 -i eth0 >rows.tsv 2>ours &
	log=$!
	until_row rows.tsv time_s 1 $log
	until grep -q 'getting traffic' vnstat.out; do kill -0 $vn || break; read -rt 0.05 <>pause; done
	first=$(grep -c period rows.tsv)
	send 200 10000
	send 1 40000000
	until_row rows.tsv period $((first + 8)) $log
	kill -INT $vn $log
	wait $vn $log
	sed -n '/traffic statistics/,$p' vnstat.out >theirs
	sed -i 1d ours
	like theirs 'time +[0-9.]+ (seconds|minutes)' "vnstat prints a summary"
	shape() { sed -E 's/[0-9]+(\.[0-9]+)?/#/g; s/ [KMG]?i?B/ U/g; s,[kMG]?bit/s,R,g; s/seconds|minutes/T/; s/ +/ /g' "$1"; }
	is "$(shape ours)" "$(shape theirs)" "both summaries have one layout"
	is "$(awk '{ print length }' ours)" "$(awk '{ print length }' theirs)" \
		"the lines of both summaries have the same widths"
	bytes() { awk '/^ *bytes/ { u["KiB"] = 1024; u["MiB"] = 1048576; u["B"] = 1; print $2 * u[$3], $5 * u[$6] }' "$1"; }
	ok "the byte totals differ by less than 1 %: ours $(bytes ours), vnstat's $(bytes theirs)" \
		awk -v a="$(bytes ours)" -v b="$(bytes theirs)" 'BEGIN {
		split(a, x, " "); split(b, y, " ")
		for (i = 1; i <= 2; i++) { d = (x[i] - y[i]) / y[i]; if (y[i] <= 0 || d * d > 1e-4) exit 1 } }'
	ok "the packet totals differ by less than 1 %" \
		awk '/^  packets/ { print FILENAME, $0; x[FILENAME] = $2; y[FILENAME] = $4 } END {
		for (f in x) n++
		d = (x["ours"] - x["theirs"]) / x["theirs"]; e = (y["ours"] - y["theirs"]) / y["theirs"]
		exit n != 2 || d * d > 1e-4 || e * e > 1e-4 }' ours theirs
else
	skip "comparison with vnstat" "no vnstat here"
fi
exec 7>&-
done_testing
