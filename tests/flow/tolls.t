# tolls.t - what workers log of the traffic between them and their servers.
. "$TOP/tests/tap.sh"
export PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1
pictures train 32 1 >out 2>&1 && im2rec train >train.rec 2>err || { cat out err; tap 1 "records"; done_testing; }

status 0 "a job of two workers and two servers" dlaunch -n 2 -s 2 pworker --net mlp --data train.rec --epochs 2 --batch 32
cp out job.tsv
# What rows of an event, a rank, an epoch, a peer and a class have in a column: their sum.
sum() { # EVENT RANK EPOCH PEER CLASS COLUMN
	awk -F '\t' -v ev="$1" -v r="$2" -v e="$3" -v p="$4" -v k="$5" -v c="$6" '
		$1 == "time_s" { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["event"] == ev && $at["rank"] == r && $at["epoch"] == e && index($at["peer"], p) == 1 && $at["class"] == k {
			n += $at[c] }
		END { printf "%d\n", n }' job.tsv
}
steps=$(awk -F '\t' '$5 == "step" && $4 == 0 && $6 == 1' job.tsv | wc -l)
ok "an epoch has $steps steps" test "$steps" -gt 0
for r in 0 1; do
	ok "rank $r: the start stands apart" test "$(sum traffic $r '' server start rx_bytes)" -gt 1000
	n=$(sum traffic $r 1 server gradients tx_bytes)
	ok "... gradients are whole floats, as many each step: $n bytes" test "$n" -gt 0 -a $((n % (4 * steps))) -eq 0
	is "$(sum traffic $r 1 server weights rx_bytes)" "$n" "... as many weights come back"
	is "$(sum traffic $r 0 server gradients tx_bytes)" "$n" "... in each epoch"
	is "$(sum traffic $r 1 "server 0" gradients tx_bytes)" "$((n - $(sum traffic $r 1 "server 1" gradients tx_bytes)))" \
		"... of the two servers together"
	all=$(sum traffic $r 1 all all tx_bytes)
	ok "... with heads it is more: $all" test "$all" -gt "$n"
	ok "... and on the wire" test "$(sum traffic $r 1 server wire tx_bytes)" -gt "$n"
	ok "... by little" test "$(sum traffic $r 1 server wire tx_bytes)" -lt $((n + n / 20 + 10000))
done
for way in tx rx; do
	is "$(sum epoch 0 1 '' '' ${way}_bytes)" "$(sum traffic 0 1 all all ${way}_bytes)" "the epoch's own row has the same $way"
done
status 0 "plog reads it" plog --format tsv -r job.tsv
is "$(awk -F '\t' '$1 == 1 && $2 == 1 { print $NF }' out)" "$(sum traffic 1 1 all all tx_bytes)" "... by rank"
status 0 "a run without servers has no such rows" pworker --net mlp --data train.rec --steps 1 --batch 32
is "$(grep -c '	traffic	' out)" 0 "... none"
done_testing
