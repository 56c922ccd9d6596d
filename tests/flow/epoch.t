#!/usr/bin/env bash
# epoch.t - workers use each record of an epoch once, whatever their number; streams of different lengths.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1

RECORDS=50001
[ -z "${SAN:-}" ] || RECORDS=2001	# instrumented code is many times slower
mkdir m
perl -e 'my $n = shift; srand 1;
	open my $x, "|-", "gzip -1 >m/train-images-idx3-ubyte.gz" or die;
	print $x pack("N4", 2051, $n, 8, 8), map { chr($_ % 251) } 1 .. 64 * $n;
	open my $y, "|-", "gzip -1 >m/train-labels-idx1-ubyte.gz" or die;
	print $y pack("N2", 2049, $n), map { chr($_ % 10) } 1 .. $n' $RECORDS
status 0 "$RECORDS images are packed" im2rec -q m --split train -o train.rec

net="--net mlp --shape 1x8x8 --batch 500 --lr 0.01 --scale 0.00390625 --read-threads 1"
samples() { awk -F'\t' '$5 == "epoch" { n += $8 } END { print n + 0 }' out; }
for n in 1 2 3 5; do
	status 0 "$n workers train an epoch" dlaunch -n "$n" -s 1 pworker $net --data train.rec --epochs 1
	is "$(samples)" "$RECORDS" "$n workers use each record once"
	is "$(awk -F'\t' '$5 == "step" { n += $8 } END { print n + 0 }' out)" "$RECORDS" \
		"the steps of $n workers log the samples of all records"
done

# Each worker reads its own stream. A worker whose stream has ended takes part until all have ended.
mkfifo 0.pipe 1.pipe 2.pipe
od -An -tx1 -N32 /dev/urandom | tr -d ' \n' >key
chmod 600 key
mkfifo at
pserver --listen 127.0.0.1:0 --workers 3 --key-file key --ready-fd 3 3>at >server.tsv 2>server.err &
server=$!
read -r where <at || where=none:1
timeout 300 cat train.rec >0.pipe 2>/dev/null & timeout 300 cat train.rec train.rec >1.pipe & timeout 300 true >2.pipe &
pids=
for w in 0 1 2; do
	timeout 300 pworker $net --data $w.pipe --servers "$where" --worker $w/3 --key-file key >$w.tsv 2>$w.err &
	pids="$pids $!"
done
codes=
for p in $pids; do wait "$p"; codes="$codes $?"; done
is "$codes" " 0 0 0" "three workers with streams of different lengths, one empty, exit with 0"
cp 0.tsv out
is "$(samples)" $((3 * RECORDS)) "the three workers use every record of their streams"
is "$(for w in 0 1 2; do grep -c '	step	' $w.tsv; done | sort -u | wc -l)" 1 \
	"the three workers take the same number of steps"
wait $server
is $? 0 "the server of the three workers exits with 0"
done_testing
