# ucx.t - a job that moves its messages through the UCX library has the bits of TCP.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
. "$TOP/tests/flow/killed.sh"
# UCX keeps what it has allocated until the process ends.
export OMP_NUM_THREADS=1 PATH=$BUILD/share/demo:$PATH ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
trap 'really_living | xargs -r kill -9; rm -rf "$T"' EXIT
cd "$T" || exit 1
pictures train 32 1 >out 2>&1 && im2rec train >train.rec 2>err || { cat out err; tap 1 "the records are packed"; done_testing; }
net="--net mlp --data train.rec --batch 32 --seed 3"

for tool in "pworker $net --servers 127.0.0.1:1 --worker 0/1" "pserver --listen 127.0.0.1:0 --workers 1"; do
	echo 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff >key && chmod 600 key
	# shellcheck disable=SC2086
	status 2 "${tool%% *} with a key refuses UCX" env TALLY_TRANSPORT=ucx $tool --key-file key
	like err ': TALLY_TRANSPORT=ucx: UCX encrypts nothing: give --plain, or leave the variable out$' "one line says what to do"
done
TALLY_TRANSPORT=ucx pserver --listen 127.0.0.1:0 --workers 0 --plain >out 2>err
if grep 'UCX: ' err >why; then
	skip "a job through UCX" "$(head -n 1 why)"
	done_testing
fi

# job NAME OPTION...: of two workers and two servers.
job() {
	local name=$1
	shift
	# shellcheck disable=SC2086
	dlaunch -n 2 -s 2 --server-command "pserver --plain" pworker $net --plain --epochs 2 --save "$name" "$@"
}
# sum FILE EVENT: bytes both ways in the rows of a log.
sum() {
	awk -F '\t' -v event="$2" '$1 == "time_s" { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["event"] == event && (event == "end" || $at["class"] == "wire") { n += $at["rx_bytes"] + $at["tx_bytes"] }
		END { printf "%d\n", n }' "$1"
}
status 0 "tcp: the job exits with 0" env TALLY_TRANSPORT=tcp bash -c "$(declare -f job); net='$net'; job tcp"
for tls in tcp posix,cma; do
	status 0 "UCX over $tls: the job exits with 0" \
		env TALLY_TRANSPORT=ucx UCX_TLS=$tls bash -c "$(declare -f job); net='$net'; job ${tls%,*}.ucx"
	ok "UCX over $tls: the job has the bits of TCP" cmp tcp-0002.safetensors "${tls%,*}.ucx-0002.safetensors"
	status 0 "UCX over $tls: asynchronous workers with a codec exit with 0" \
		env TALLY_TRANSPORT=ucx UCX_TLS=$tls bash -c "$(declare -f job); net='$net'; job async --async --codec bf16"
done
status 0 "a job through UCX's shared memory runs under netstat-logging" netstat-logging -q -o sockets.tsv \
	env TALLY_TRANSPORT=ucx UCX_TLS=posix,cma bash -c "$(declare -f job); net='$net'; job again"
moved=$(sum out traffic) sockets=$(sum sockets.tsv end)
ok "few of its bytes pass through sockets: $sockets of $moved" test "$moved" -gt 1000000 -a "$sockets" -lt $((moved / 10))

export TALLY_TRANSPORT=ucx
for tls in tcp posix,cma; do
	UCX_TLS=$tls start killed --server-command "pserver --plain" -- $net --plain --epochs 40
	for p in $(really_living); do
		[ "$(cat "/proc/$p/comm" 2>/dev/null)" != pserver ] || { kill -9 "$p"; break; }
	done
	ok "UCX over $tls: a job whose server is killed ends with status 137" ends 137
	ok "UCX over $tls: nothing is left" really_none_left
done
done_testing
