# plog.sh - logs for the tests of plog: $head and row(), $T/a.tsv (a job of two epochs), $T/b.log (lines of MXNet).

head=$(echo 'time_s host role rank event epoch step samples loss accuracy samples_per_s lr wait_s sent_bytes received_bytes' |
	tr ' ' '\t')
row() { # TIME EVENT EPOCH SAMPLES LOSS ACCURACY SPEED
	printf '%s\thost\tworker\t0\t%s\t%s\t\t%s\t%s\t%s\t%s\t\t\t\t\n' "$@"
}
{
	echo '# tally 0.1 tool=pworker rank=0'
	echo "$head"
	row 0.1 start 0 '' '' '' ''
	row 10 epoch 0 1000 2.0 0.3 200
	row 12 validation 0 100 1.5 0.4 900
	row 22 epoch 1 1000 1.0 0.6 250
	row 24 validation 1 100 nan 0.7 900
	row 25 end '' '' '' '' ''
} >"$T/a.tsv"
cat >"$T/b.log" <<'END'
worker 0: Epoch[0] Train-accuracy=0.500000
worker 1: Epoch[0] Train-accuracy=0.700000
INFO:root:Epoch[0] Time cost=3.5
END
