# shm.t - a job whose processes are on one host moves its messages through memory, with the bits of TCP.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
. "$TOP/tests/flow/data.sh"
. "$TOP/tests/flow/killed.sh"
export OMP_NUM_THREADS=1 PATH=$BUILD/share/demo:$PATH
# The leak sanitizer does not run in processes that netstat-logging traces.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
trap 'really_living | xargs -r kill -9; rm -rf "$T"' EXIT
cd "$T" || exit 1
pictures train 32 1 >out 2>&1 && im2rec train >train.rec 2>err || { cat out err; tap 1 "the records are packed"; done_testing; }
job="--net mlp --data train.rec --batch 32"

# bytes FILE: those that netstat-logging counted, both ways.
bytes() {
	awk -F '\t' '$1 == "time_s" { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["event"] == "end" { print $at["rx_bytes"] + $at["tx_bytes"] }' "$1"
}
# moved FILE: those that workers and servers logged on their connections.
moved() {
	awk -F '\t' '$1 == "time_s" { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["event"] == "traffic" && $at["class"] == "wire" { n += $at["rx_bytes"] + $at["tx_bytes"] }
		END { printf "%d\n", n }' "$1"
}

for how in auto tcp; do
	status 0 "TALLY_TRANSPORT=$how: a job of two workers and two servers exits with 0" \
		netstat-logging -q -o $how.net env TALLY_TRANSPORT=$how \
		dlaunch -n 2 -s 2 pworker $job --epochs 2 --save $how
	mv out $how.log
done
ok "both jobs have the same bits" cmp auto-0002.safetensors tcp-0002.safetensors
ok "over TCP all bytes that the job logs pass through sockets: $(moved tcp.log) of $(bytes tcp.net)" \
	test "$(moved tcp.log)" -gt 1000000 -a "$(moved tcp.log)" -le "$(bytes tcp.net)"
ok "through memory the job logs as many, and few pass through sockets: $(moved auto.log), $(bytes auto.net)" \
	test "$(moved auto.log)" -gt $(($(moved tcp.log) / 10 * 9)) -a "$(bytes auto.net)" -lt $(($(moved auto.log) / 10))
status 0 "netstat-logging makes a job use sockets" \
	netstat-logging -q --count calls -o default.net dlaunch -n 1 -s 1 pworker $job --epochs 1 --save one
ok "netstat-logging counts what the job moves: $(moved out) of $(bytes default.net)" \
	test "$(moved out)" -gt 500000 -a "$(moved out)" -le "$(bytes default.net)"

mkfifo at
pserver --listen 127.0.0.1:0 --workers 1 --plain --ready-fd 9 9>at >server.log 2>server.err & server=$!
read -r where <at
status 0 "a job without a key moves its messages through memory too" \
	netstat-logging -q -o plain.net env TALLY_TRANSPORT=auto pworker $job --epochs 1 --save plain --plain \
	--servers "$where" --worker 0/1
wait $server
is $? 0 "the server of that job exits with 0"
ok "a job without a key has the bits of a job with a key" cmp one-0001.safetensors plain-0001.safetensors
ok "few of its bytes pass through sockets: $(moved out), $(bytes plain.net)" test "$(bytes plain.net)" -lt $(($(moved out) / 10))

# Other tests kill the processes of jobs that use memory.
if have mnist; then
	for how in auto tcp; do
		TALLY_TRANSPORT=$how start $how.cut -- --net lenet --data "$MNIST_TEST" --scale 0.00390625 --batch 16 --steps 300
		for p in $(really_living); do
			[ "$(cat "/proc/$p/comm" 2>/dev/null)" != pserver ] || { kill -9 "$p"; break; }
		done
		ok "TALLY_TRANSPORT=$how: a job whose server is killed ends well" ends 0
		like "$T/err" '^server .: dlaunch: signal 9 ended this server; it was started again' \
			"TALLY_TRANSPORT=$how: dlaunch reports it"
	done
	ok "both jobs have the same bits" cmp auto.cut-*.safetensors tcp.cut-*.safetensors
else
	skip "killed servers" "$WHY"
fi

for tool in "pworker $job" "pserver --listen 127.0.0.1:0 --workers 1 --plain"; do
	status 2 "${tool%% *} refuses an unknown transport" env TALLY_TRANSPORT=udp $tool
	is "$(cat err)" "${tool%% *}: TALLY_TRANSPORT=udp: neither auto, tcp nor ucx" "the error lists the transports"
done
is "$(TALLY_TRANSPORT=tcp dlaunch -n 1 -s 0 -- env 2>err | grep TALLY_TRANSPORT)" TALLY_TRANSPORT=tcp "dlaunch passes it on"
done_testing
