#!/usr/bin/env bash
# latency.sh - what a network with a delay costs a worker: samples a second, with 50 ms each way and without.
#
#	TALLY_DATA=../shared/data bench/latency.sh [rounds [steps [seconds]]]
#
# One worker trains lenet, batch 128, on MNIST with one server, over tests/relay.pl.  The two take turns.  Printed are the
# samples a second of each run without its first steps, and the median ratio.
set -eu
cd "$(dirname "$0")/.."
TOP=$PWD BUILD=${BUILD:-$PWD/build}
export PATH=$BUILD:$PATH TALLY_SHARE=$TOP/share OMP_NUM_THREADS=1 TALLY_TRANSPORT=tcp
rounds=${1:-5} steps=${2:-60} delay=${3:-0.05}
. "$TOP/tests/tap.sh"
. "$TOP/tests/flow/data.sh"
set +u
trap 'jobs -p | xargs -r kill 2>/dev/null; rm -rf "$T"' EXIT
have mnist || { echo "latency.sh: $WHY" >&2; exit 1; }
mkfifo "$T/server.at" "$T/relay.at"	# the end of one must not end the other

# run SECONDS: samples a second with so much delay each way.
run() {
	local at relay server
	pserver --listen 127.0.0.1:0 --workers 1 --plain --ready-fd 9 9>"$T/server.at" >"$T/server" 2>&1 & server=$!
	read -r at <"$T/server.at"
	"$TOP/tests/relay.pl" "$1" "$at" >"$T/relay.at" & relay=$!
	read -r at <"$T/relay.at"
	pworker --net lenet --data "$MNIST_TRAIN" --batch 128 --steps "$steps" --frequent 10 --plain --servers "$at" --worker 0/1 \
		>"$T/log" 2>"$T/err" || { cat "$T/err" >&2; exit 1; }
	wait $server
	kill $relay
	wait $relay 2>/dev/null || :
	sed -n 's/.*Speed: \([0-9.]*\) .*/\1/p' "$T/err" | sed 1d | awk '{ s += 1 / $1 } END { print NR / s }'
}

for ((i = 0; i < rounds; i++)); do
	if ((i % 2 == 0)); then near=$(run 0) far=$(run "$delay"); else far=$(run "$delay") near=$(run 0); fi
	printf 'none\t%s\tdelay %s\t%s\t%.3f\n' "$near" "$delay" "$far" "$(echo "$far $near" | awk '{ print $1 / $2 }')"
done | tee /dev/stderr | cut -f5 | sort -n |
	awk '{ v[NR] = $1 } END { print "median ratio\t" (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
