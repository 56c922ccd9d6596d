#!/usr/bin/env bash
# ps.sh - parameter servers without compute, ours and others' in turn, into Gbit/s and seconds of processors per GB.
#
#	PEER_TORCH=python3 PEER_MXNET=python3 bench/ps.sh [--rounds N] [--seconds S] [--shapes "1x1 2x2"]
#		[--sizes "65536 4194304"] [--nets "vgg resnet"] [--slice BYTES] [--optimizer NAME]
#
# A step writes, pushes, pulls and reads all arrays (bench/ps.c).  A shape is workers x servers; in 2x0 the workers are
# their own servers, and MXNet gets as many as workers.  A size is the bytes of one array; a net gives its own arrays.
# All contenders of a row take turns of S seconds (0.5) in each of N rounds (5), so that all are measured in the same
# minutes; what counts is the median over all steps.  Gbit/s are bytes pushed plus pulled by one worker, over time.
# Seconds per GB are those of all processes of the job, over the bytes of all workers.
#
# tally is ours over TCP with TLS, plain ours over TCP without a key, shm ours through shared memory; with UCX=1 there are
# ucx_tcp and ucx_shm, ours through what UCX has for them.  bare, in 1x1 with one array, does the same work over one plain
# connection without a protocol (bench/ps_bare.c): what is left to gain; moved only moves the bytes, and nobody touches them.
# Our servers apply the optimizer, sgd with momentum or another, of which descent keeps no state.  Those of MXNet only
# add, and gloo (an all-reduce of the workers, at least two) has none.  iperf3 --bidir moves bytes over loopback without
# reading them.  PEER_TORCH and PEER_MXNET name pythons that have
# torch and mxnet; a peer that is missing is left out.  TALLY is the command in place of $BUILD/bench/ps, TALLY_OLD that of
# another build, one more contender.
set -eu
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build} TALLY_SHARE=${TALLY_SHARE:-$PWD/share} LC_ALL=C PYTHONDONTWRITEBYTECODE=1
rounds=5 seconds=0.5 shapes="1x1 2x1 2x2" sizes="65536 1048576 4194304 16777216" nets="inception-bn resnet vgg" more=()
while [ $# -gt 0 ]; do
	[ $# -gt 1 ] || { sed -n '4,5s/^#	//p' "$0" >&2; exit 2; }
	case $1 in
	--rounds) rounds=$2 ;;
	--seconds) seconds=$2 ;;
	--shapes) shapes=$2 ;;
	--sizes) sizes=$2 ;;
	--nets) nets=$2 ;;
	--slice | --optimizer) more+=("$1" "$2") ;;
	*) sed -n '4,5s/^#	//p' "$0" >&2; exit 2 ;;
	esac
	shift 2
done
. bench/contenders.sh

if [ -z "${TALLY:-}" ]; then
	make -s BUILD="$BUILD" "$BUILD/bench/ps" "$BUILD/bench/ps_bare"
	TALLY=$BUILD/bench/ps
fi

# turn NAME ROUND: its steps of a round, into the file of times; the round 0 only says how many steps fill a turn.
turn() {
	local name=$1 pid=pid_$1 steps=steps_$1 t0 b0 u0 u1 times
	[ "$2" != 0 ] || printf -v "$steps" 3
	t0=$EPOCHREALTIME b0=$(busy) u0=$(used "${!pid}")
	run_steps "$name"
	u1=$(used "${!pid}")
	if [ "$2" = 0 ]; then
		printf -v "steps_$name" %s "$(awk -v s="$seconds" -v ms="$times" '
			BEGIN { n = split(ms, v, " "); n = int(s * 1e3 / (v[n] + 1e-3)); print (n < 1 ? 1 : n > 20000 ? 20000 : n) }')"
		return
	fi
	awk -v name="$name" -v used=$((u1 - u0)) -v hz="$hz" -v n="${!steps}" -v b=$(($(busy) - b0 - u1 + u0)) \
		-v t="$(awk -v a="$t0" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')" -v cores="$cores" -v times="$times" \
		'BEGIN { printf "%s %.6f %.3f %s\n", name, used / hz / n, b / hz / t / cores, times }' >>"$dir/times"
}

# iperf ROUND: Gbit/s both ways together, without a step.
iperf() {
	[ "$1" != 0 ] && command -v iperf3 >/dev/null || return 0
	iperf3 -s -p 15201 >/dev/null 2>&1 &
	local pid=$!
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		iperf3 -c 127.0.0.1 -p 15201 --bidir -t 1 -l 1M -J >"$dir/iperf.json" 2>/dev/null && break
		sleep 0.1
	done
	kill "$pid"
	wait "$pid" 2>/dev/null || true
	awk -F '[:,]' '/"sum_received|"sum_received_bidir/ { on = 1 } on && /bits_per_second/ { s += $2; on = 0 }
		END { if (s > 0) printf "iperf3 %.3f\n", s / 1e9 }' "$dir/iperf.json" >>"$dir/rates"
}

# measure SHAPE TITLE OPTION...: a row of the table.
measure() {
	local shape=$1 title=$2 name r list
	shift 2
	set -- --workers "${shape%x*}" --servers "${shape#*x}" "$@"
	: >"$dir/times"
	: >"$dir/rates"
	# shellcheck disable=SC2086
	start tally $TALLY "$@" "${more[@]}"
	[ "${#names[@]}" -gt 0 ] || exit 1
	# shellcheck disable=SC2086
	start plain $TALLY "$@" --plain "${more[@]}"
	# shellcheck disable=SC2086
	start shm $TALLY "$@" --shm "${more[@]}"
	if [ -n "${UCX:-}" ]; then
		# shellcheck disable=SC2086
		UCX_TLS=tcp start ucx_tcp $TALLY "$@" --plain --ucx "${more[@]}"
		# shellcheck disable=SC2086
		UCX_TLS=posix,cma start ucx_shm $TALLY "$@" --plain --ucx "${more[@]}"
	fi
	# shellcheck disable=SC2086
	if [ "$shape $title" = "1x1 one" ]; then
		start bare "$BUILD/bench/ps_bare" "${@:5}"
		start moved "$BUILD/bench/ps_bare" "${@:5}" --untouched
	fi
	# shellcheck disable=SC2086
	[ -z "${TALLY_OLD:-}" ] || start old $TALLY_OLD "$@" "${more[@]}"
	# shellcheck disable=SC2086
	list=$($TALLY --list "$@")
	local servers=${shape#*x}
	[ "$servers" != 0 ] || servers=${shape%x*}
	[ -z "${PEER_MXNET:-}" ] || start mxnet "$PEER_MXNET" bench/peers/ps_mxnet.py --workers "${shape%x*}" \
		--servers "$servers" --bytes "$list"
	[ -z "${PEER_TORCH:-}" ] || start gloo "$PEER_TORCH" bench/peers/ps_gloo.py --workers "${shape%x*}" --bytes "$list"
	for ((r = 0; r <= rounds; r++)); do
		for name in "${names[@]}"; do
			turn "$name" "$r"
		done
		iperf "$r"
	done
	stop
	awk -v shape="$shape" -v title="$title" -v bytes="$ready" -v workers="${shape%x*}" '
	function median(list,   v, n, i, j, t, gap) {
		n = split(list, v, " ")
		for (gap = int(n / 2); gap > 0; gap = int(gap / 2))
			for (i = gap + 1; i <= n; i++)
				for (j = i; j > gap && v[j - gap] + 0 > v[j] + 0; j -= gap) { t = v[j]; v[j] = v[j - gap]; v[j - gap] = t }
		return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
	}
	function of(name, t) { return name in rate ? sprintf("%.2f", rate[name] / t) : "-" }
	function ratios(t) { return sprintf("%6s %6s %6s", of("tally", t), of("plain", t), of("shm", t)) }
	NF == 2 { rates = rates " " $2; next }
	{
		if (!($1 in ms)) order[++names] = $1
		cpu[$1] = cpu[$1] " " $2
		other[$1] = other[$1] " " $3
		list = ""
		for (i = 4; i <= NF; i++) list = list " " $i
		ms[$1] = ms[$1] list
	}
	END {
		for (k = 1; k <= names; k++) {
			n = order[k]
			w = n == "gloo" && workers < 2 ? 2 : workers
			t = median(ms[n])
			rate[n] = 2 * bytes * 8 / t / 1e6
			lines[k] = sprintf("%-5s %-13s %9d %-7s %9.3f %8.2f %8.3f %6.2f", shape, title, bytes, n, t, rate[n],
				median(cpu[n]) / (2 * bytes * w / 1e9), median(other[n]))
		}
		for (k = 1; k <= names; k++)
			print lines[k], ratios(rate[order[k]])
		if (rates != "") {
			t = median(rates)
			printf "%-5s %-13s %9d %-7s %9s %8.2f %8s %6s %s\n", shape, title, bytes, "iperf3", "-", t, "-", "-", ratios(t)
		}
	}' "$dir/times" "$dir/rates"
}

for p in TORCH MXNET; do
	v=PEER_$p
	[ -n "${!v:-}" ] || echo "$p: left out: $v names no python" >&2
done
echo "$(uname -m), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $cores processors," \
	"load $(cut -d ' ' -f 1 /proc/loadavg); $rounds rounds of $seconds s in turn ${more[*]}"
echo "other: the share of the processors that other programs took; tally/, plain/, shm/: Gbit/s of ours / those of the row"
printf "%-5s %-13s %9s %-7s %9s %8s %8s %6s %6s %6s %6s\n" shape arrays bytes who ms Gbit/s s/GB other tally/ plain/ shm/
for shape in $shapes; do
	for size in $sizes; do
		measure "$shape" one --bytes "$size"
	done
	for net in $nets; do
		case $net in
		vgg) measure "$shape" vgg16-32 --net vgg --net-opt layers=16 --shape 3x32x32 ;;
		resnet) measure "$shape" resnet50-224 --net resnet --net-opt layers=50 --shape 3x224x224 ;;
		*) measure "$shape" "$net" --net "$net" ;;
		esac
	done
done
