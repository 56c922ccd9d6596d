#!/usr/bin/env bash
# strangers.t - a running job beside those who have no key: each does what it can, and the job ends with the same bits.
. "$TOP/tests/tap.sh"
# A scan of all ports meets no other test.
. "$TOP/tests/flow/alone.sh"
. "$TOP/tests/standin.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1
ulimit -n "$(ulimit -Hn)"
most=$(($(ulimit -n) - 100))
[ "$most" -lt 10000 ] || most=10000
attack="perl $TOP/tests/flow/strangers.pl"

bright_records 2400
# Worker 1 reaches server 0 through a peer that keeps what it sends.  Its successor does not.
mkdir through
cat >through/pworker <<'END'
#!/usr/bin/env bash
words=("$@")
for ((i = 0; i < $#; i++)); do
	[ "${words[i]}" != --servers ] || at=$((i + 1))
	[ "${words[i]}" != --worker ] || rank=${words[i + 1]}
done
if [ "$rank" = 1/2 ] && mkdir "$CAUGHT.dir" 2>/dev/null; then
	first=${words[at]%%,*}
	mkfifo "$CAUGHT.port"
	perl "$TOP/tests/flow/strangers.pl" pass 1 "$CAUGHT" "${first%:*}" "${first##*:}" >"$CAUGHT.port" &
	read -r port <"$CAUGHT.port"
	words[at]=${first%:*}:$port,${words[at]#*,}
fi
[ "$rank" != 1/2 ] || echo $$ >"$CAUGHT.worker"
exec pworker "${words[@]}"
END
chmod +x through/pworker
export CAUGHT=$T/caught
args="--net mlp --shape 3x28x28 --data train.rec --lr 0.05 --scale 0.00390625 --batch 8 --seed 7 --frequent 1 --epochs 5"

status 0 "the job ends with status 0 without strangers" dlaunch -n 2 -s 2 pworker $args --save alone
# The file has the lines of the job before until the new one opens it.
rm -f err
dlaunch -n 2 -s 2 --env STAND --env CAUGHT --env TOP through/pworker $args --save beside >log 2>err & job=$!
ok "the job trains, and one connection is captured" line_of err 'Speed' 1 $job
# While worker 1 is stopped, the job cannot end before the strangers do.
pause() { worker=$(<caught.worker) && kill -STOP "$worker"; }
pause
mapfile -t server < <(real_process --server 0; real_process --server 1)
mapfile -t ports < <(sed -n 's/.*pserver: listens at 127.0.0.1:\([0-9]*\) as.*/\1/p' err)
is "${#server[@]} ${#ports[@]}" "2 2" "both servers are found"
memory() { cat "/proc/${server[0]}/status" "/proc/${server[1]}/status" | awk '/^VmRSS/ { n += $2 } END { print n }'; }
# The job goes on by two steps of each worker.
proceed() {
	local n
	n=$(grep -c Speed err)
	kill -CONT "$worker"
	line_of err Speed $((n + 4)) $job
}
before=$(memory) SAN_KB=${SAN:+262144}

children() { cat "/proc/$1/task/$1/children"; }
agent=$(children $job)
perl "$TOP/tests/flow/key_copies.pl" "${server[@]}" "$worker" $job $agent $(children $agent) >copies 2>copies.err
# A sanitizer's stack is elsewhere, and it ignores mlock(2).
if [ -n "${SAN:-}" ]; then
	skip "copies of the key" "a sanitizer"
else
	is "$(sed 's/ locked//' copies | sort | uniq -c | tr -s ' ' | tr '\n' ';')" \
		" 2 dlaunch digits undumped; 2 pserver raw undumped; 1 pworker raw undumped; 4 tally-shim digits undumped;" \
		"each process has one copy of the key, which is left out of core dumps"
	if [ "$(ulimit -l)" = unlimited ] || [ "$(ulimit -l)" -ge 64 ]; then
		is "$(grep -c ' locked' copies)" 9 "each copy of the key is locked"
	else
		skip "each copy of the key is locked" "ulimit -l"
	fi
fi
like caught.hello 'tally/[0-9]+ worker [0-9a-f]{16}' "a worker names its role and the job in the clear, and not the key"

# alive NAME: both servers are there, and the job goes on.
alive() {
	ok "$1: both servers live" kill -0 "${server[@]}"
	ok "$1: the job goes on" proceed
	pause
}
$attack random 200 - 127.0.0.1 "${ports[@]}" >random
alive "beside 200 connections with random bytes"
like random '^0 answered in' "random bytes get no answer"
RATE=500 $attack send 1000 caught.hello 127.0.0.1 "${ports[@]}" >hellos
alive "beside a flood of 1000 ClientHellos of a worker"
ok "the servers answer 50 ClientHellos a second each, as nobody is missing: $(cat hellos)" \
	awk '{ exit $1 > 100 * ($4 + 2) }' hellos
$attack send 100 caught.all 127.0.0.1 "${ports[@]}" >replay
alive "beside 100 replays of a worker's connection"
$attack close 5000 - 127.0.0.1 "${ports[@]}"
alive "beside 5000 connections that are closed at once"
if [ "$ALONE" = yes ]; then
	$attack scan 65535 - 127.0.0.1
	alive "beside a scan of all ports"
else
	skip "beside a scan of all ports" "no network of its own"
fi
mkfifo held slowly
exec 8<>held 9<>slowly
$attack slow 200 caught.hello 127.0.0.1 "${ports[@]}" <slowly >slow.out & slow=$!
ok "200 connections send one byte a second" line_of slow.out held 1
$attack hold "$most" - 127.0.0.1 "${ports[@]}" <held >hold.out & hold=$!
ok "$most connections say nothing" line_of hold.out held 1
alive "beside $most connections"
after=$(memory)
# A sanitizer keeps what was freed.
ok "the servers have at most 64 MB more memory than before: $before to $after KB" test $((after - before)) -le $((SAN_KB + 65536))
kill -9 "$worker"
n=$(grep -c 'worker 1 is back' err)
ok "a worker that is killed returns through $most connections" line_of err 'worker 1 is back' $((n + 2)) $job
like err 'pserver: refused 127\.0\.0\.1:[0-9]+: .' "the servers log whom they refuse, and why"
ok "the servers log few of those whom they refuse" test "$(grep -c 'pserver: refused 127' err)" -lt 50
echo >&8
echo >&9
wait "$job"
is $? 0 "the job ends with status 0 beside strangers"
kill "$hold" "$slow" 2>/dev/null
ok "the job ends with the bits of one without strangers" cmp alone-0005.safetensors beside-0005.safetensors

# A worker that joins is not missed before.  With a sanitizer the server is slower than the flood.
if [ -n "${SAN:-}" ]; then
	skip "a worker joins a job beside connections without end" "a sanitizer"
	done_testing
fi
export XDG_STATE_HOME=$T/state
dlaunch --detach --job grow -n 1..2 -s 1 --env STAND pworker $args --async --epochs 100000 >log 2>err
port=$(sed -n 's/.*pserver: listens at 127.0.0.1:\([0-9]*\) as.*/\1/p' state/tally/jobs/grow/err)
# More than the server accepts while nobody is missing, so that its queue is full.
unset RATE
$attack close 5000 - 127.0.0.1 "$port"
while $attack close 5000 - 127.0.0.1 "$port"; do :; done & flood=$!
status 0 "a worker is added" dlaunch scale grow 2
ok "a worker joins a job beside connections without end" line_of state/tally/jobs/grow/err "^worker 1: pworker: joins the job: " 1
kill "$flood"
status 0 "that job is stopped" dlaunch stop grow
done_testing
