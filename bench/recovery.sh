#!/usr/bin/env bash
# recovery.sh - what recovery costs a job that nothing disturbs: processor seconds and seconds with and without.
#
#	TALLY_DATA=../shared/data bench/recovery.sh [rounds [steps]]
#
# Two workers and two servers train inception, batch 32, on CIFAR-10: without memories and cuts ("none"), with memories that
# outlive a process ("memory", --respawn 10), and with a cut every 20 steps on top ("cut 20").  They take turns.  Printed are
# medians over the rounds and the median, least and greatest ratio to the run without of the same round.
set -eu
cd "$(dirname "$0")/.."
TOP=$PWD BUILD=${BUILD:-$PWD/build}
export PATH=$BUILD:$PATH TALLY_SHARE=$TOP/share TALLY_MODULES=$BUILD OMP_NUM_THREADS=1
rounds=${1:-9} steps=${2:-60}
. "$TOP/tests/tap.sh"
. "$TOP/tests/flow/data.sh"
set +u
trap 'rm -rf "$T"' EXIT
have cifar || { echo "recovery.sh: $WHY" >&2; exit 1; }

# job NAME RESPAWN [OPTION]...: a row with processor seconds and seconds.
job() {
	local name=$1 respawn=$2 TIMEFORMAT='%U %S %R'
	shift 2
	rm -f "$T"/weights*
	# A job's processes outlive their parents: the first process of a namespace inherits them, and their times.
	{ time unshare -rpf --mount-proc bash -c '"$@"; e=$?; while kill -0 -1; do :; done; exit $e' job \
		dlaunch -n 2 -s 2 --respawn "$respawn" pworker --net inception --data "$CIFAR_TRAIN" --batch 32 --threads 1 \
		--epochs 1000 --steps "$steps" --seed 7 --save "$T/weights" "$@" >"$T/log" 2>"$T/err"; } 2>"$T/time" ||
		{ cat "$T/err" >&2; exit 1; }
	awk -v name="$name" '{ print name "\t" $1 + $2 "\t" $3 }' "$T/time"
}

job warm 0 --cut 0 >"$T/warm"
for ((i = 0; i < rounds; i++)); do
	jobs=(0 1 2)
	((i % 2 == 0)) || jobs=(2 1 0)
	for k in "${jobs[@]}"; do
		case $k in
		0) job none 0 --cut 0 ;;
		1) job memory 10 --cut 0 ;;
		2) job 'cut 20' 10 --cut 20 ;;
		esac
	done
done | tee /dev/stderr >"$T/rows"

awk -F'\t' 'function median(v, n) { return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2 }
	function sort(v, n,   i, j, x) {
		for (i = 2; i <= n; i++) {
			x = v[i]
			for (j = i; j > 1 && v[j - 1] > x; j--)
				v[j] = v[j - 1]
			v[j] = x
		}
	}
	{ if (!($1 in n)) order[++kinds] = $1; i = ++n[$1]; cpu[$1, i] = $2; wall[$1, i] = $3 }
	END {
		print "job\tcpu_s\tseconds\tcpu_ratio\tleast\tgreatest\tseconds_ratio"
		for (k = 1; k <= kinds; k++) {
			name = order[k]
			for (i = 1; i <= n[name]; i++) {
				c[i] = cpu[name, i]; w[i] = wall[name, i]
				r[i] = c[i] / cpu["none", i]; q[i] = w[i] / wall["none", i]
			}
			sort(c, n[name]); sort(w, n[name]); sort(r, n[name]); sort(q, n[name])
			printf "%s\t%.2f\t%.2f\t%.4f\t%.4f\t%.4f\t%.4f\n", name, median(c, n[name]), median(w, n[name]),
				median(r, n[name]), r[1], r[n[name]], median(q, n[name])
		}
	}' "$T/rows"
