# latency.t - a job over a network that delays each byte by 50 ms ends with the bits of one without.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
export OMP_NUM_THREADS=1 TALLY_TRANSPORT=tcp
trap 'jobs -p | xargs -r kill 2>/dev/null; rm -rf "$T"' EXIT
cd "$T" || exit 1
bright_records 60 || exit 1
mkfifo server.at relay.at	# the end of one must not end the other
# train NAME [DELAY]: a job of one server and two workers, which reach it through a relay if there is a delay.
train() {
	local name=$1 at worker server relay=
	pserver --listen 127.0.0.1:0 --workers 2 --plain --ready-fd 9 9>server.at >/dev/null 2>"$name.server" & server=$!
	read -r at <server.at
	if [ $# -gt 1 ]; then
		"$TOP/tests/relay.pl" "$2" "$at" >relay.at & relay=$!
		read -r at <relay.at
	fi
	set -- pworker --net mlp --shape 3x28x28 --data train.rec --batch 6 --scale 0.00390625 --steps 5 --plain --servers "$at"
	"$@" --worker 1/2 >/dev/null 2>"$name.1" & worker=$!
	from=${EPOCHREALTIME/./}
	"$@" --worker 0/2 --save "$name" >"$name.log" 2>"$name.0" && wait $worker && wait $server || return
	took=$(((${EPOCHREALTIME/./} - from) / 1000))
	[ -z "$relay" ] || kill $relay
}
ok "a job trains" train near
ok "a job with a delay of 50 ms each way trains" train far 0.05
ok "the five steps take at least five round trips" test "$took" -ge 500
is "$(wc -l <far.log)" "$(wc -l <near.log)" "the log has as many rows"
ok "both have the same weights, to the last bit" cmp near-*.safetensors far-*.safetensors
done_testing
