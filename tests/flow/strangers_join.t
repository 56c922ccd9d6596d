#!/usr/bin/env bash
# strangers_join.t - a worker joins a job, and one returns, under floods from their own address.
. "$TOP/tests/tap.sh"
# No other process moves the counters of the network.
. "$TOP/tests/flow/alone.sh"
. "$TOP/tests/standin.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1 XDG_STATE_HOME=$T/state
ulimit -n "$(ulimit -Hn)"
most=$(($(ulimit -n) - 100))
[ "$most" -lt 10000 ] || most=10000
attack="perl $TOP/tests/flow/strangers.pl"
# With a sanitizer the server is slower than a flood.
[ -z "${SAN:-}" ] || { skip "a worker joins under floods" "a sanitizer"; done_testing; }

bright_records 2400
# Worker 0 first reaches the server through a peer that keeps its ClientHello.
mkdir through
cat >through/pworker <<'END'
#!/usr/bin/env bash
words=("$@")
for ((i = 0; i < $#; i++)); do
	[ "${words[i]}" != --servers ] || at=$((i + 1))
	[ "${words[i]}" != --worker ] || rank=${words[i + 1]%%/*}
done
if [ "$rank" = 0 ] && mkdir "$CAUGHT.dir" 2>/dev/null; then
	mkfifo "$CAUGHT.port"
	perl "$TOP/tests/flow/strangers.pl" pass 1 "$CAUGHT" "${words[at]%:*}" "${words[at]##*:}" >"$CAUGHT.port" &
	read -r port <"$CAUGHT.port"
	words[at]=${words[at]%:*}:$port
fi
echo $$ >"$CAUGHT.worker$rank"
exec pworker "${words[@]}"
END
chmod +x through/pworker
export CAUGHT=$T/caught
args="--net mlp --shape 3x28x28 --data train.rec --lr 0.05 --scale 0.00390625 --batch 8 --seed 7 --frequent 1"
dlaunch --detach --job grow -n 1..2 -s 1 --respawn 100 --env STAND --env CAUGHT --env TOP through/pworker $args --async \
	--epochs 100000 >log 2>err
err=state/tally/jobs/grow/err
port=$(sed -n 's/.*pserver: listens at 127.0.0.1:\([0-9]*\) as.*/\1/p' "$err")
ok "the job trains" line_of "$err" Speed 1
ok "a ClientHello is captured" test -s caught.hello
# The same with another proof.
perl -pe 'BEGIN { undef $/ } substr($_, -1) ^= "\1"' caught.hello >forged.hello

# in_time NAME FILE PATTERN N: N lines with the pattern come, within a time that a lost SYN or two does not fit in.
in_time() {
	local from=$EPOCHREALTIME took
	ok "$1" line_of "$2" "$3" "$4"
	took=$((${EPOCHREALTIME/./} - ${from/./}))
	ok "$1 within 2 seconds: $took us" test "$took" -lt 2000000
}
joined() { grep -c '^worker 1: pworker: joins the job: ' "$err"; }
# Connections that listeners of this network have made, and whether a flood adds to them.
opens() { awk '/^Tcp: [0-9]/ { print $7 }' /proc/net/snmp; }
flows() {
	local until=$((SECONDS + 60))
	while [ $(($(opens) - opened)) -lt 1000 ]; do
		[ $SECONDS -lt $until ] || return 1
		read -rt 0.05 <> <(:) || :
	done
}
# beside NAME KIND NUMBER FILE: the flood comes again and again until a worker has joined and another has returned.
beside() {
	local name=$1 n
	shift
	opened=$(opens)
	setsid bash -c 'while "$@"; do :; done' flood $attack "$1" "$2" "$3" 127.0.0.1 "$port" >flood.out 2>&1 & flood=$!
	ok "$name come" flows
	n=$(joined)
	dlaunch scale grow 2 & scale=$!
	in_time "a worker joins beside $name" "$err" '^worker 1: pworker: joins the job: ' $((n + 1))
	wait "$scale"
	is $? 0 "a worker is added beside $name"
	n=$(grep -c 'worker 0 is back' "$err")
	kill -9 "$(<caught.worker0)"
	in_time "a worker returns beside $name" "$err" 'worker 0 is back' $((n + 1))
	kill -- "-$flood"
	status 0 "the worker leaves again after $name" dlaunch scale grow 1
}
server() { pgrep -nx pserver --ns $$ --nslist net; }
memory() { awk '/^VmRSS/ { print $2 }' "/proc/$(server)/status"; }
before=$(memory)
exec 8<>"$T/never" 2>/dev/null || { mkfifo never && exec 8<>never; }
RATE=3250 beside "ClientHellos that are repeated" send 100000 caught.hello
RATE=3250 beside "ClientHellos that are forged" send 100000 forged.hello
RATE=1270 beside "connections that are closed at once" close 100000 -
beside "$most connections that say nothing" hold "$most" - <&8
beside "$most connections that send one byte a second" slow "$most" caught.hello <&8
after=$(memory)
ok "the server has at most 64 MB more memory than before: $before to $after KB" test $((after - before)) -le 65536
status 0 "the job is stopped" dlaunch stop grow
done_testing
