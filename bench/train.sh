#!/usr/bin/env bash
# train.sh - whole training steps of nets, ours and others' in turn, into images/s and the ratio to the best of the others.
#
#	PEER_TORCH=python3 PEER_MXNET=python3 bench/train.sh [--dtype f32|bf16] [--pass evaluate] [--isa SET] [--threads N]
#		[--rounds N] [--seconds S] [--table FILE] [--net NAME [--net-opt KEY=VALUE] [--shape CxHxW] [--classes N] [--batch N]]
#
# Without --net: the table of five nets.  All contenders of a net run in one precision and take turns of S seconds (3), or of
# three steps if these take longer, in each of N rounds (5), so that all are measured in the same minutes; what counts is the
# median.  Rounds in which other programs took more than a twentieth of the processors are marked, and do not count when each
# contender has three others.  "peak MB" is the most memory that a process had, its program and libraries included.
#
# PEER_TORCH and PEER_MXNET name pythons that have torch and mxnet; a peer that fails to start is left out with a line.
# MODES are those of torch ("eager cl compiled").  TALLY is the command in place of $BUILD/bench/train, TALLY_OLD a command of
# another build that is one more contender: TALLY_OLD='chroot /other /tally/build/bench/train'.
# --pass evaluate times forward passes in evaluation mode instead of steps.
# --table appends to FILE what bench/results reads: a line for each contender of a net, with machine, version, commit and time.
# It leaves out a net that FILE has of the same machine, commit and contenders.  A tree with changes has no commit to compare.
# --isa avx2 limits all contenders to AVX2 by the variables that their libraries read.
set -eu
dtype=f32 pass=train threads=2 rounds=5 seconds=3 isa='' table='' only=()
while [ $# -gt 0 ]; do
	[ $# -gt 1 ] || { sed -n '4,5s/^#	//p' "$0" >&2; exit 2; }
	case $1 in
	--dtype) dtype=$2 ;;
	--pass) pass=$2 ;;
	--threads) threads=$2 ;;
	--rounds) rounds=$2 ;;
	--seconds) seconds=$2 ;;
	--isa) isa=$2 ;;
	--table) table=$(realpath -m "$2") ;;
	--net | --net-opt | --shape | --classes | --batch) only+=("$1" "$2") ;;
	*) sed -n '4,5s/^#	//p' "$0" >&2; exit 2 ;;
	esac
	shift 2
done
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build} TALLY_SHARE=${TALLY_SHARE:-$PWD/share} LC_ALL=C PYTHONDONTWRITEBYTECODE=1
. bench/machine.sh
export OMP_NUM_THREADS=$threads
machine=$(machine_of) commit=$(commit_of "$PWD" "$table")
if [ -n "$isa" ]; then
	[ "$isa" = avx2 ] || { echo "train.sh: --isa: only avx2 is known" >&2; exit 2; }
	export TALLY_MAX_ISA=avx2 ONEDNN_MAX_CPU_ISA=AVX2 DNNL_MAX_CPU_ISA=AVX2	# tally; oneDNN, older ones the last
	export ATEN_CPU_CAPABILITY=avx2 MKL_ENABLE_INSTRUCTIONS=AVX2 OPENBLAS_CORETYPE=Haswell	# torch, its MKL; MXNet's BLAS
fi
. bench/contenders.sh

if [ -z "${TALLY:-}" ]; then
	make -s BUILD="$BUILD" "$BUILD/bench/train"
	TALLY=$BUILD/bench/train
fi

# turn NAME ROUND: its steps of a round, into the file of times; the round 0 only says how many steps fill a turn.
turn() {
	local name=$1 pid=pid_$1 t0 b0 u0 t1 b1 u1 times foreign
	t0=$EPOCHREALTIME b0=$(busy) u0=$(used "${!pid}")
	run_steps "$name"
	t1=$EPOCHREALTIME b1=$(busy) u1=$(used "${!pid}")
	if [ "$2" = 0 ]; then
		printf -v "steps_$name" %s "$(awk -v s="$seconds" -v ms="$times" 'BEGIN { n = int(s * 1e3 / ms); print n < 3 ? 3 : n }')"
		return
	fi
	foreign=$(awk -v b=$((b1 - b0 - u1 + u0)) -v t0="$t0" -v t1="$t1" -v hz="$hz" -v n="$cores" \
		'BEGIN { printf "%.3f", b / hz / (t1 - t0) / n }')
	echo "$name $2 $foreign $times" >>"$dir/times"
}

# peer NAME COMMAND...: starts another program and keeps its version.  It has huge pages, for which tally asks itself.
peer() {
	local name=$1
	shift
	ready=''
	start "$name" "${huge_pages[@]}" "$@"
	echo "$name ${ready:--}" >>"$dir/versions"
}

# measure BATCH TORCH-MODES NET-OPTION...: a net's table, and a line of $dir/rows.
measure() {
	local batch=$1 modes=$2 name r title
	shift 2
	title=$(echo "$*" | sed 's/--net-opt //g; s/--[a-z]* //g')
	contenders=(tally)
	for name in $modes; do
		[ -z "${PEER_TORCH:-}" ] || contenders+=("torch_$name")
	done
	[ -z "${PEER_MXNET:-}" ] || [ "$dtype" != f32 ] || contenders+=(mxnet)
	if [ -n "$table" ] && noted "$title" "$batch"; then
		echo "$title, batch $batch: $table has it, of this commit and machine" >&2
		return
	fi
	set -- "$@" --batch "$batch" --pass "$pass"
	: >"$dir/times"
	echo "tally $(explain "$TALLY")" >"$dir/versions"
	# shellcheck disable=SC2086
	start tally $TALLY "$@" --dtype "$dtype" --threads "$threads"
	[ "${#names[@]}" -gt 0 ] || exit 1
	macs=$ready
	# shellcheck disable=SC2086
	[ -z "${TALLY_OLD:-}" ] || start old $TALLY_OLD "$@" --dtype "$dtype" --threads "$threads"
	# shellcheck disable=SC2086
	start limit $TALLY --limit --dtype "$dtype" --threads "$threads"
	for name in $modes; do
		[ -z "${PEER_TORCH:-}" ] || peer "torch_$name" "$PEER_TORCH" bench/peers/train_torch.py "$@" \
			--dtype "$dtype" --threads "$threads" --mode "$name"
	done
	[ -z "${PEER_MXNET:-}" ] || [ "$dtype" != f32 ] || peer mxnet "$PEER_MXNET" bench/peers/train_mxnet.py "$@"
	for ((r = 0; r <= rounds; r++)); do
		for name in "${names[@]}"; do
			turn "$name" "$r"
		done
	done
	for name in "${names[@]}"; do
		local pid=pid_$name
		echo "$name $(awk '/^VmHWM/ { print $2 * 1024 / 1e6 }' "/proc/${!pid}/status")"
	done >"$dir/memory"
	stop
	echo "$title, batch $batch, $pass, $dtype${isa:+, $isa}, $threads threads;" \
		"$rounds rounds of $seconds s or three steps in turn; $macs M multiply-adds an image"
	awk -v batch="$batch" -v macs="$macs" -v flops="$([ "$pass" = train ] && echo 6 || echo 2)" -v title="$title" \
		-v rows="$dir/rows" -v memory="$dir/memory" -v lines="$dir/lines" '
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
		while ((getline line < memory) > 0) { split(line, v, " "); mb[v[1]] = v[2] }
		printf "%-15s %10s %10s %10s %10s %10s %12s\n", "", "ms", "best ms", "images/s", "GFLOP/s", "peak MB", "disturbed"
		enough = 1
		for (k = 1; k <= names; k++) enough = enough && nquiet[order[k]] >= 3
		for (k = 1; k <= names; k++) {
			n = order[k]
			ms = median(enough ? quiet[n] : all[n])
			gflop = n == "limit" ? 2 * 2048 ^ 3 / 1e9 : flops * macs * batch / 1e3
			rate[n] = batch / ms * 1e3
			printf "%-15s %10.1f %10.1f %10s %10.0f %10.0f %7d of %d\n", n, ms, best[n],
				n == "limit" ? "-" : sprintf("%.1f", rate[n]), gflop / ms * 1e3, mb[n], disturbed[n], NR / names
			if (n != "limit" && n != "old")
				printf "%s\t%.2f\t%.1f\t%.1f\t%.0f\t%d\n", n, rate[n], ms, best[n], mb[n], disturbed[n] >lines
			if (n == "limit") top = gflop / ms * 1e3
			else if (n != "tally" && n != "old" && rate[n] > peer) { peer = rate[n]; who = n }
		}
		printf "tally / limit: %.2f\n", flops * macs * rate["tally"] / 1e3 / top
		if ("old" in rate) printf "tally / old: %.2f\n", rate["tally"] / rate["old"]
		if (who != "") printf "tally / %s, the best of the others: %.2f\n", who, rate["tally"] / peer
		printf "%-40s %6d %9.1f %9s %9s  %-15s %6s %6s\n", title, batch, rate["tally"],
			"old" in rate ? sprintf("%.1f", rate["old"]) : "-",
			who != "" ? sprintf("%.1f", peer) : "-", who != "" ? who : "-",
			who != "" ? sprintf("%.2f", rate["tally"] / peer) : "-",
			"old" in rate ? sprintf("%.2f", rate["tally"] / rate["old"]) : "-" >>rows
	}' "$dir/times"
	echo
	[ -z "$table" ] || note "$title" "$batch"
}

# explain COMMAND: what a build of ours says of itself.
# shellcheck disable=SC2086
explain() { $1 --explain --batch 1 --threads "$threads" --dtype "$dtype" | head -n 1; }

# noted TITLE BATCH: whether the table has a line of each contender of a net, of this commit and machine.
noted() {
	local what="$1	$2	$pass	$dtype${isa:+ $isa}	$threads	$rounds	$machine	$commit"
	[ -s "$table" ] && awk -F'\t' -v what="$what" -v contenders="${contenders[*]}" '
		$1 FS $2 FS $3 FS $4 FS $5 FS $13 FS $14 FS $15 == what { seen[$6] = 1 }
		END {
			n = split(contenders, c, " ")
			for (i = 1; i <= n; i++) missing += !(c[i] in seen)
			exit missing || what ~ /[+-]$/
		}' "$table"
}

# note TITLE BATCH: appends the lines of a net to the table.  A contender that did not start has no numbers.
note() {
	[ -s "$table" ] || printf '%s\n' net batch pass dtype threads contender images_s ms best_ms peak_mb disturbed version rounds \
		machine commit date | paste -s >"$table"
	awk -v net="$1" -v batch="$2" -v pass="$pass" -v dtype="$dtype${isa:+ $isa}" -v threads="$threads" -v rounds="$rounds" \
		-v machine="$machine" -v commit="$commit" -v date="$(date -u +%FT%RZ)" \
		-v versions="$dir/versions" '
	BEGIN {
		FS = OFS = "\t"
		while ((getline line <versions) > 0) {
			n = index(line, " ")
			name = substr(line, 1, n - 1)
			version[name] = substr(line, n + 1)
			if (version[name] == "-") without[++left_out] = name
		}
	}
	{ print net, batch, pass, dtype, threads, $0, version[$1], rounds, machine, commit, date }
	END {
		for (i = 1; i <= left_out; i++)
			print net, batch, pass, dtype, threads, without[i], "-", "-", "-", "-", "-", "-", rounds, machine, commit, date
	}' "$dir/lines" >>"$table"
}

for p in TORCH MXNET; do
	v=PEER_$p
	[ -n "${!v:-}" ] || echo "$p: left out: $v names no python" >&2
done
echo "$(uname -m), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $cores processors"
for t in "$TALLY" "${TALLY_OLD:-}"; do
	[ -z "$t" ] || echo "$t: $(explain "$t")"
done
echo
all=${MODES-eager cl compiled}
if [ ${#only[@]} -gt 0 ]; then
	batch=128 rest=()
	for ((i = 0; i < ${#only[@]}; i += 2)); do
		if [ "${only[i]}" = --batch ]; then batch=${only[i + 1]}; else rest+=("${only[@]:i:2}"); fi
	done
	measure "$batch" "$all" "${rest[@]}"
else
	measure 128 "$all" --net inception
	measure 128 "$all" --net resnet --net-opt layers=110 --shape 3x28x28 --classes 10
	measure 128 "$all" --net vgg --net-opt layers=16 --shape 3x32x32 --classes 10
	measure 32 "$all" --net resnet --net-opt layers=50 --shape 3x224x224 --classes 1000
	measure 500 "$all" --net fast
fi
[ -s "$dir/rows" ] || exit 0
printf '%-40s %6s %9s %9s %9s  %-15s %6s %6s\n' "$dtype${isa:+, $isa}: images/s" batch tally old peer "best peer" /peer /old
cat "$dir/rows"
