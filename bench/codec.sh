#!/usr/bin/env bash
# codec.sh - images per second by codec over a slow link, beside the same job without a network, and bytes on the wire.
#
#	bench/codec.sh RECORDS [--rate 100mbit] [--steps N] [--batch N] [--net NAME] [--codecs "f32 bf16 fp16"]
#
# One worker and one server are on two hosts, network namespaces between which both directions have this rate (tbf).
# So it needs root.  The first row is the job on one host.  The first of the N steps (6) is not counted.  Sent and
# received are bytes of the worker's connection for all N steps, start included.
set -eu
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-$PWD/build} TALLY_SHARE=${TALLY_SHARE:-$PWD/share} LC_ALL=C TALLY_TRANSPORT=tcp
PATH=$BUILD:$PATH
usage() { sed -n '4s/^#	//p' "$0" >&2; exit 2; }
[ $# -gt 0 ] && [ $(($# % 2)) = 1 ] || usage
records=$1 rate=100mbit steps=6 batch=32 net=vgg codecs="f32 bf16 fp16"
shift
while [ $# -gt 0 ]; do
	case $1 in
	--rate | --steps | --batch | --net | --codecs) declare "${1#--}=$2" ;;
	*) usage ;;
	esac
	shift 2
done
T=$(mktemp -d) server=
. tests/netns.sh
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; netns_away; rm -rf "$T"' EXIT
netns_make server worker || { cat "$T/netns" >&2; exit 1; }
for host in server worker; do
	netns_in $host tc qdisc add dev eth0 root tbf rate "$rate" burst 256kb latency 400ms
done
mkfifo "$T/at"

# run NAME HOST ADDRESS CODEC: the server on this host, and the worker on its own.
run() {
	local at
	netns_in "$2" pserver --listen "$3:0" --workers 1 --plain --ready-fd 9 9>"$T/at" >"$T/server.log" 2>"$T/err" & server=$!
	read -r at <"$T/at"
	netns_in worker pworker --net "$net" --data "$records" --batch "$batch" --steps "$steps" --seed 1 --plain --frequent 1 \
		--servers "$at" --worker 0/1 --codec "$4" >"$T/log" 2>"$T/err" || { cat "$T/err" >&2; exit 1; }
	wait "$server"
	server=
	awk -F '\t' -v name="$1" -v batch="$batch" '
		$1 == "time_s" { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["event"] == "step" { last = $1; if (n++ == 0) first = $1 }
		$at["event"] == "traffic" && $at["class"] == "wire" { sent += $at["tx_bytes"]; received += $at["rx_bytes"] }
		END { printf "%s\t%.2f\t%d\t%d\n", name, (n - 1) * batch / (last - first), sent, received }' "$T/log"
}
printf 'job\timages_per_s\tsent\treceived\n'
run "f32, one host" worker 127.0.0.1 f32
for codec in $codecs; do
	run "$codec, $rate" server 10.93.0.2 "$codec"
done
