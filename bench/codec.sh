#!/usr/bin/env bash
# codec.sh - images per second by codec over a slow link, beside the same program without a network, and bytes sent.
#
#	[PEER_TORCH=python] bench/codec.sh RECORDS [--rate 100mbit] [--rounds N] [--steps N] [--batch N] [--net X] [--codecs X] [--hooks X]
#
# Two hosts, network namespaces that send at this rate (tbf), have a worker and a server each, of one thread: so it
# needs root.  With PEER_TORCH, PyTorch's DDP over gloo follows on the same links, a process on each host, with each of
# the hooks.  "alone" is two processes at the same time that exchange nothing.  All take turns in each of N rounds (3),
# every second round in the opposite order.  A rate is that of both, by the median step of each; the first step, or the
# first four of PyTorch, are not counted.  Prints the median of all rounds.  Sent is what worker 0 sent in all steps.
set -eu
. "$(dirname "$0")/arguments.sh"
cd "$TOP"
export TALLY_TRANSPORT=tcp
[ $# -gt 0 ] || usage
records=$1 rate=100mbit rounds=3 steps=6 batch=64 net=vgg codecs="f32 bf16 2bit topk topk:0.001 powersgd" hooks="none fp16 powersgd"
arguments "rate rounds steps batch net codecs hooks" "${@:2}"
T=$(mktemp -d) pids=()
. tests/netns.sh
trap '[ -z "${pids[*]}" ] || kill "${pids[@]}" 2>/dev/null || :; netns_away; rm -rf "$T"' EXIT
netns_make a b || { cat "$T/netns" >&2; exit 1; }
for host in a b; do
	netns_in $host tc qdisc add dev eth0 root tbf rate "$rate" burst 256kb latency 400ms
done
mkfifo "$T/at"
exec 7<>"$T/at"	# open, so that one server does not end it for the next
job=(pworker --net "$net" --data "$records" --batch "$batch" --steps "$steps" --seed 1 --threads 1 --frequent 1)

# finish: waits for all processes.
finish() {
	for p in "${pids[@]}"; do wait "$p" || { cat "$T"/*.err >&2; exit 1; }; done
	pids=()
}
# median_step_ms LOG: milliseconds a step.
median_step_ms() {
	awk -F '\t' '$1 == "time_s" { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["event"] == "step" { if (n++ > 0) printf "%.1f\n", 1000 * ($1 - last); last = $1 }' "$1" | median
}
# add_round MS MS SENT: a round of the contender $name, whose two processes had these times.
add_round() {
	awk -v a="$1" -v b="$2" -v batch="$batch" 'BEGIN { printf "%.2f\n", 1000 * batch / a + 1000 * batch / b }' >>"$T/$name.rate"
	echo "$3" >"$T/$name.sent"
}
# run CODEC: a job of two hosts, or "alone" two processes.
run() {
	[ "$1" != alone ] || {
		for i in 0 1; do "${job[@]}" >"$T/$i.log" 2>"$T/$i.err" & pids+=($!); done
		finish
		add_round "$(median_step_ms "$T/0.log")" "$(median_step_ms "$T/1.log")" 0
		return
	}
	local at servers=
	for i in 0 1; do
		netns_in "$([ $i = 0 ] && echo a || echo b)" pserver --listen 10.93.0.$((i + 2)):0 --workers 2 --server $i/2 --plain \
			--ready-fd 9 9>"$T/at" >"$T/server$i.log" 2>"$T/server$i.err" & pids+=($!)
		read -rt 60 at <&7 || { cat "$T"/server$i.err >&2; exit 1; }
		servers+=${servers:+,}$at
	done
	for i in 0 1; do
		netns_in "$([ $i = 0 ] && echo a || echo b)" "${job[@]}" --plain --servers "$servers" --worker $i/2 --codec "$1" \
			>"$T/$i.log" 2>"$T/$i.err" & pids+=($!)
	done
	finish
	add_round "$(median_step_ms "$T/0.log")" "$(median_step_ms "$T/1.log")" "$(awk -F '\t' '
		$1 == "time_s" { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["event"] == "traffic" && $at["class"] == "all" { sent += $at["tx_bytes"] }
		END { printf "%d\n", sent }' "$T/0.log")"
}
# ddp HOOK: PyTorch on both hosts.
ddp() {
	for i in 0 1; do
		GLOO_SOCKET_IFNAME=eth0 netns_in "$([ $i = 0 ] && echo a || echo b)" "$PEER_TORCH" bench/peers/codec_ddp.py $i 2 \
			10.93.0.2:29500 "$1" "$net" "$batch" "$steps" >"$T/$i.ms" 2>"$T/$i.err" & pids+=($!)
	done
	finish
	add_round "$(cat "$T/0.ms")" "$(cat "$T/1.ms")" -
}
names=("tally alone")
for codec in $codecs; do names+=("tally $codec"); done
[ -z "${PEER_TORCH:-}" ] || for hook in alone $hooks; do names+=("ddp $hook"); done
for ((r = 0; r < rounds; r++)); do
	for ((k = 0; k < ${#names[@]}; k++)); do
		name=${names[r % 2 ? ${#names[@]} - 1 - k : k]}
		case $name in
		tally*) run "${name#* }" ;;
		*) ddp "${name#* }" ;;
		esac
	done
done
printf 'job\timages_per_s\tto_alone\tsent\n'
for name in "${names[@]}"; do
	middle=$(median <"$T/$name.rate")
	case $name in *alone) alone=$middle ;; esac
	awk -v name="$name" -v m="$middle" -v a="$alone" -v sent="$(cat "$T/$name.sent")" \
		'BEGIN { printf "%s\t%.2f\t%.3f\t%s\n", name, m, m / a, sent }'
done
