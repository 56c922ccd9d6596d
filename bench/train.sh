#!/usr/bin/env bash
# train.sh - whole training steps of inception, ours and others' in turn, into images/s beside the machine's limit.
#
#	PEER_TORCH=python3 PEER_MXNET=python3 bench/train.sh [rounds [steps]]
#
# Every contender is one process that waits for its turn, so that all are measured
# in the same minutes; a round is `steps` steps of each.  PEER_TORCH and PEER_MXNET
# name pythons that have torch and mxnet; one that is not there is left out.  Rounds
# in which other programs took more than a twentieth of the processors are marked,
# and do not count when there are three others.  BATCH and THREADS may be set, and DTYPE=bf16
# to measure tally in bf16 beside its f32 and torch's autocast.
set -eu
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build} TALLY_SHARE=${TALLY_SHARE:-$PWD/share}
rounds=${1:-6} steps=${2:-5} batch=${BATCH:-128} threads=${THREADS:-2}
export OMP_NUM_THREADS=$threads LC_ALL=C
macs=204.2	# million multiply-adds of one picture, forward; backward is twice that
dir=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -rf "$dir"' EXIT

make -s BUILD="$BUILD" "$BUILD/bench/train"

# start NAME COMMAND...: a contender waits on fd in_NAME and answers on fd out_NAME.
names=()
start() {
	local name=$1 word
	shift
	mkfifo "$dir/$name.in" "$dir/$name.out"
	"$@" <"$dir/$name.in" >"$dir/$name.out" 2>"$dir/$name.err" &
	local pid=$!
	exec {in}>"$dir/$name.in" {out}<"$dir/$name.out"
	if ! read -r word <&"$out" || [ "$word" != ready ]; then
		echo "$name: left out: $(tail -n 1 "$dir/$name.err")" >&2
		wait "$pid" || true
		return 0
	fi
	pids+=("$pid")
	names+=("$name")
	printf -v "in_$name" %s "$in"
	printf -v "out_$name" %s "$out"
	printf -v "pid_$name" %s "$pid"
}

# busy: jiffies that programs used on all processors (not interrupts: the loopback's are nobody's).
busy() { awk '/^cpu / { print $2 + $3 + $4 }' /proc/stat; }
# used PID: jiffies that one process used.
used() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; }

start tally "$BUILD/bench/train" --batch "$batch" --threads "$threads"
[ "${DTYPE:-f32}" = f32 ] || start bf16 "$BUILD/bench/train" --batch "$batch" --threads "$threads" --dtype "$DTYPE"
start limit "$BUILD/bench/train" --limit --threads "$threads"
if [ -n "${PEER_TORCH:-}" ]; then
	start torch "$PEER_TORCH" bench/peers/train_torch.py --batch "$batch" --threads "$threads"
	start torch_cl "$PEER_TORCH" bench/peers/train_torch.py --batch "$batch" --threads "$threads" --mode f32cl
	[ "${DTYPE:-f32}" = f32 ] || start torch_bf16 \
		"$PEER_TORCH" bench/peers/train_torch.py --batch "$batch" --threads "$threads" --mode bf16cl
else
	echo "torch: left out: PEER_TORCH names no python" >&2
fi
if [ -n "${PEER_MXNET:-}" ]; then
	start mxnet "$PEER_MXNET" bench/peers/train_mxnet.py --batch "$batch"
else
	echo "mxnet: left out: PEER_MXNET names no python" >&2
fi

hz=$(getconf CLK_TCK) cores=$(getconf _NPROCESSORS_ONLN)
for ((r = 1; r <= rounds; r++)); do
	for name in "${names[@]}"; do
		in=in_$name out=out_$name pid=pid_$name
		t0=$EPOCHREALTIME b0=$(busy) u0=$(used "${!pid}")
		echo "$steps" >&"${!in}"
		read -r times <&"${!out}"
		t1=$EPOCHREALTIME b1=$(busy) u1=$(used "${!pid}")
		foreign=$(awk -v b=$((b1 - b0 - u1 + u0)) -v t0="$t0" -v t1="$t1" -v hz="$hz" -v n="$cores" \
			'BEGIN { printf "%.3f", b / hz / (t1 - t0) / n }')
		echo "$name $r $foreign $times" >>"$dir/times"
	done
done

echo "inception, batch $batch, threads $threads, ${DTYPE:-f32}; $rounds rounds of $steps steps in turn; $(uname -m)," \
	"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $cores processors"
"$BUILD/bench/train" --explain --batch 1 --threads "$threads" | head -n 1
awk -v batch="$batch" -v macs="$macs" '
function median(list,   v, n, i, j, t) {
	n = split(list, v, " ")
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
	return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
}
{
	if (!($1 in all)) order[++names] = $1
	list = ""
	for (i = 4; i <= NF; i++) { list = list " " $i; if (!($1 in best) || $i + 0 < best[$1]) best[$1] = $i + 0 }
	all[$1] = all[$1] list
	if ($3 + 0 <= 0.05) { quiet[$1] = quiet[$1] list; nquiet[$1]++ } else disturbed[$1]++
}
END {
	printf "%-10s %10s %10s %10s %10s %12s\n", "", "ms", "best ms", "images/s", "GFLOP/s", "disturbed"
	for (k = 1; k <= names; k++) {
		n = order[k]
		ms = median(nquiet[n] >= 3 ? quiet[n] : all[n])
		gflop = n == "limit" ? 2 * 2048 ^ 3 / 1e9 : 6 * macs * batch / 1e3
		rate = n == "limit" ? "-" : sprintf("%.1f", batch / ms * 1e3)
		speed[n] = 1e3 / ms
		if (n == "limit") top = gflop / ms * 1e3
		printf "%-10s %10.1f %10.1f %10s %10.0f %7d of %d\n", n, ms, best[n], rate, gflop / ms * 1e3, \
			disturbed[n], NR / names
		if (n != "tally" && n != "limit" && speed[n] > peer) { peer = speed[n]; who = n }
	}
	printf "tally / limit: %.2f\n", 6 * macs * batch / 1e3 * speed["tally"] / top
	if (who != "") printf "tally / %s, the best of the others: %.2f\n", who, speed["tally"] / peer
}' "$dir/times"
