#!/usr/bin/env bash
# link.sh - what a slow link leaves of a parameter server's speed and of training, in turns with the same without a limit.
#
#	bench/link.sh RECORDS [--rate 1gbit] [--rounds N] [--bytes N] [--steps N] [--batch N] [--net NAME] [--shape CxHxW]
#
# Hosts are network namespaces, so it needs root; with the limit each sends at this rate (tbf).  All traffic is encrypted.
#
# First a worker and a server on two hosts exchange one array of BYTES (67108864) without compute (bench/ps.c): Gbit/s of
# weights in each direction, which flow at once.  Then three hosts of a worker with two devices and a server each train
# RECORDS (inception-bn, images of 227x227, batches of 16 a worker), synchronous and asynchronous: images a second of all
# workers, by the median step of each, with and without the limit.  Prints medians of N rounds (5).
set -eu
. "$(dirname "$0")/arguments.sh"
[ $# -gt 0 ] || usage
records=$1 rate=1gbit rounds=5 bytes=67108864 steps=5 batch=16 net=inception-bn shape=3x227x227
arguments "rate rounds bytes steps batch net shape" "${@:2}"
make -s -C "$TOP" BUILD="$BUILD" "$BUILD/bench/ps"
T=$(mktemp -d) pids=()
. "$TOP/tests/netns.sh"
trap '[ -z "${pids[*]}" ] || kill "${pids[@]}" 2>/dev/null || :; netns_away; rm -rf "$T"' EXIT
netns_make a b c || { cat "$T/netns" >&2; exit 1; }
mkfifo "$T/at"
exec 7<>"$T/at"	# open, so that one server does not end it for the next
head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$T/key"
chmod 600 "$T/key"

# limit on|off
limit() {
	for host in a b c; do
		[ "$1" = off ] && netns_in $host tc qdisc del dev eth0 root ||
			netns_in $host tc qdisc add dev eth0 root tbf rate "$rate" burst 256kb latency 400ms
	done
}
# exchange: Gbit/s in each direction, by the median of some steps.
exchange() {
	echo $((steps + 1)) | netns_in a "$BUILD/bench/ps" --bytes "$bytes" --netns "$(netns_of b)" --host 10.93.0.3 |
		tail -n 1 | tr ' ' '\n' | sed 1d | median | awk -v bytes="$bytes" '{ printf "%.3f\n", bytes * 8 / $1 / 1e6 }'
}
# train OPTION...: images a second of a job.
train() {
	local at servers='' i=0
	for host in a b c; do
		netns_in $host pserver --listen 10.93.0.$((i + 2)):0 --workers 3 --server $i/3 --key-file "$T/key" --ready-fd 9 \
			9>"$T/at" >"$T/server$i.log" 2>"$T/server$i.err" & pids+=($!)
		read -rt 60 at <&7 || { cat "$T"/server$i.err >&2; exit 1; }
		servers+=${servers:+,}$at i=$((i + 1))
	done
	i=0
	for host in a b c; do
		netns_in $host pworker --net "$net" --shape "$shape" --data "$records" --batch "$batch" --steps "$steps" --seed 1 \
			--devices cpu:0,cpu:1 --threads 1 --frequent 1 --servers "$servers" --worker $i/3 --key-file "$T/key" "$@" \
			>"$T/$i.log" 2>"$T/$i.err" & pids+=($!)
		i=$((i + 1))
	done
	for p in "${pids[@]}"; do wait "$p" || { cat "$T"/*.err >&2; exit 1; }; done
	pids=()
	for i in 0 1 2; do
		awk -F '\t' '$1 == "time_s" { for (i = 1; i <= NF; i++) at[$i] = i; next }
			$at["event"] == "step" { if (n++ > 0) print $1 - last; last = $1 }' "$T/$i.log" | median
	done | awk -v batch="$batch" '{ sum += batch / $1 } END { printf "%.3f\n", sum }'
}
for ((r = 0; r < rounds; r++)); do
	for limit in off on; do
		[ $limit = off ] || limit on
		exchange >>"$T/exchange.$limit"
		train >>"$T/synchronous.$limit"
		train --async >>"$T/asynchronous.$limit"
		[ $limit = off ] || limit off
	done
done
printf 'what\tunlimited\t%s\tratio\n' "$rate"
for what in exchange synchronous asynchronous; do
	printf '%s\t%s\t%s\n' $what "$(median <"$T/$what.off")" "$(median <"$T/$what.on")" |
		awk -F '\t' '{ printf "%s\t%.3f\t%.3f\t%.3f\n", $1, $2, $3, $3 / $2 }'
done
