# peer_traffic.t - workers and servers log the traffic between them and their load.
. "$TOP/tests/tap.sh"
export PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1
pictures train 32 1 >out 2>&1 && im2rec train >train.rec 2>err || { cat out err; tap 1 "the records are packed"; done_testing; }

status 0 "a job of two workers and two servers exits with 0" \
	dlaunch -n 2 -s 2 pworker --net mlp --data train.rec --epochs 2 --batch 32 \
	--val train.rec --save m
cp out job.tsv
# The sum of a column over the rows of an event, a rank (1 is a worker, s1 a server), an epoch, a peer and a class.
sum() { # EVENT RANK EPOCH PEER CLASS COLUMN
	local role=worker
	[ "${2#s}" = "$2" ] || role=server
	awk -F '\t' -v ev="$1" -v r="${2#s}" -v e="$3" -v p="$4" -v k="$5" -v c="$6" -v role=$role '
		$1 == "time_s" { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["event"] == ev && $at["role"] == role && $at["rank"] == r && $at["epoch"] == e &&
		    index($at["peer"], p) == 1 && $at["class"] == k {
			n += $at[c] }
		END { printf "%d\n", n }' job.tsv
}
steps=$(awk -F '\t' '$5 == "step" && $4 == 0 && $6 == 1' job.tsv | wc -l)
ok "an epoch has $steps steps" test "$steps" -gt 0
ok "rank 0: the first transfer of the weights has rows of its own" test "$(sum traffic 0 '' server start tx_bytes)" -gt 1000
ok "rank 0: no weights come back" test "$(sum traffic 0 '' server start rx_bytes)" -lt 1000
ok "rank 1: the first transfer of the weights has rows of its own" test "$(sum traffic 1 '' server start rx_bytes)" -gt 1000
for r in 0 1; do
	n=$(sum traffic $r 1 server gradients tx_bytes)
	ok "rank $r: gradients are whole floats, as many each step: $n bytes" \
		test "$n" -gt 0 -a $((n % (4 * steps))) -eq 0
	is "$(sum traffic $r 1 server weights rx_bytes)" "$n" "rank $r: as many bytes of weights are received"
	is "$(sum traffic $r 0 server gradients tx_bytes)" "$n" "rank $r: both epochs have the same bytes"
	is "$(sum traffic $r 1 "server 0" gradients tx_bytes)" "$((n - $(sum traffic $r 1 "server 1" gradients tx_bytes)))" \
		"rank $r: the bytes of both servers add up"
	all=$(sum traffic $r 1 all all tx_bytes)
	ok "rank $r: the total includes message headers: $all" test "$all" -gt "$n"
	ok "rank $r: the wire has more bytes than the gradients" \
		test "$(sum traffic $r 1 server wire tx_bytes)" -gt "$n"
	ok "rank $r: the wire has few more bytes than the gradients" \
		test "$(sum traffic $r 1 server wire tx_bytes)" -lt $((n + n / 20 + 10000))
done
for way in tx rx; do
	is "$(sum epoch 0 1 '' '' ${way}_bytes)" "$(sum traffic 0 1 all all ${way}_bytes)" \
		"the epoch's own row has the same ${way}_bytes"
done
# Both sides agree: every payload that one sent was received by the other in the same epoch.
rows() { # ROLE: worker, server, epoch, class, bytes to the server, bytes from it
	awk -F '\t' -v role="$1" '
		$1 == "time_s" { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["event"] != "traffic" || $at["role"] != role || $at["peer"] == "all" || $at["class"] == "wire" { next }
		{ split($at["peer"], p, " "); rank = $at["rank"]; rx = $at["rx_bytes"]; tx = $at["tx_bytes"] }
		role == "worker" { print rank, p[2], $at["epoch"], $at["class"], tx, rx }
		role == "server" { print p[2], rank, $at["epoch"], $at["class"], rx, tx }' job.tsv | sort
}
ok "servers log rows of traffic" test "$(rows server | wc -l)" -ge 30
is "$(rows server)" "$(rows worker)" "servers and workers log the same payloads: start, epochs, end"
wire() { for e in 0 1 ''; do sum traffic "$1" "$e" "$2" wire "$3"; done | awk '{ n += $1 } END { print n }'; }
for way in rx/tx tx/rx; do
	a=$(wire s0 "worker 1" ${way%/*}_bytes) b=$(wire 1 "server 0" ${way#*/}_bytes)
	ok "both sides count the same bytes on the wire, except for the last messages: $a, $b" \
		test "$a" -gt 100000 -a $((a - b)) -lt 300 -a $((b - a)) -lt 300
done
a=$(for w in 0 1; do sum traffic $w 0 "server 1" gradients tx_bytes; done | awk '{ n += $1 } END { print n }')
ok "a server's total of an epoch is the gradients of both workers and headers" \
	test "$(sum traffic s1 0 all all rx_bytes)" -gt "$a" -a \
	"$(sum traffic s1 0 all all rx_bytes)" -lt $((a + a / 20 + 10000))
for e in 0 1; do
	# The load of so short a time may be 0.00 on a busy machine.
	ok "epoch $e: each process logs its load, and its host's if the kernel's clock ticked" awk -F '\t' -v e=$e '
		$1 == "time_s" { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["event"] == "load" && $at["epoch"] == e { n[$at["role"]]++
			print $at["role"], $at["rank"] ": cpu", $at["cpu"], "host_load", $at["host_load"]
			if ($at["cpu"] !~ /^[0-9]/ || $at["cpu"] > 1000) bad = 1
			if ($at["host_load"] != "" && ($at["host_load"] < 0 || $at["host_load"] > 1)) bad = 1 }
		END { exit bad || n["worker"] != 2 || n["server"] != 2 }' job.tsv
done
status 0 "plog --machines reads the log" plog --machines --format tsv job.tsv
is "$(head -n 1 out | cut -f3-7 | tr '\t' ' ')" "tool cpu host_load rx_bytes tx_bytes" \
	"plog --machines shows load and traffic"
is "$(awk -F '\t' 'NR > 1 { n[$3]++; p[$3] += $2; ok[$3] = $4 ~ /^[0-9]/ && $6 > 1e6 && $7 > 1e6 }
	END { print n["pworker"], p["pworker"], ok["pworker"], n["pserver"], p["pserver"], ok["pserver"] }' out)" "1 2 1 1 2 1" \
	"plog --machines has a line for a machine's workers and one for its servers"

status 0 "plog -r reads the log" plog --format tsv -r job.tsv
is "$(awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $1 == 1 && $2 == 1 { print $at["tx_bytes"] }' out)" \
	"$(sum traffic 1 1 all all tx_bytes)" "plog -r shows the traffic of each rank"
status 0 "a run without servers exits with 0" pworker --net mlp --data train.rec --steps 1 --batch 32
is "$(grep -c '	traffic	' out)" 0 "a run without servers logs no traffic"
is "$(grep -c '	load	' out)" 2 "a run without servers logs its load"
status 0 "a run of many clock ticks exits with 0" \
	dlaunch -n 1 -s 1 pworker --net mlp --data train.rec --epochs 600 --batch 32
cp out long.tsv
status 0 "plog --machines reads the long log" plog --machines --format tsv long.tsv
ok "the long log has the load of worker, server and host" awk -F '\t' '{ print }
	NR > 1 { n++; good += $4 > 0 && $5 > 0 && $5 <= 1 } END { exit n != 2 || good != 2 }' out
# One worker of an asynchronous job leaves early.
mkfifo where
pserver --plain --listen 127.0.0.1:0 --workers 2 --ready-fd 9 9>where >server.tsv 2>err &
server=$!
read -r at <where
job=(pworker --plain --servers "$at" --async --net mlp --data train.rec --epochs 600 --batch 32)
"${job[@]}" --worker 0/2 >alone0.tsv 2>&1 &
first=$!
"${job[@]}" --worker 1/2 >alone1.tsv 2>&1 &
second=$!
until grep -q '	epoch	' alone1.tsv; do kill -0 $second || break; done
kill $second
wait $second $first $server
is "$(awk -F '\t' '$5 == "load" && $6 >= 500 && $6 < 599' server.tsv | wc -l)" 99 \
	"the server logs the epochs of the others after a worker has left"
done_testing
