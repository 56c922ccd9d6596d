#!/usr/bin/env bash
# serve.t - im2rec --serve: the same weights as from the file, a server that dies, keys; and one mean for many workers.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$T"' EXIT

(umask 077; openssl rand -hex 32 >key; openssl rand -hex 32 >other)
# 60 images of 32x32 in CIFAR's format, repeated so many times.
pack() { # SEED TIMES
	perl -e 'srand shift; $b = join "", map { $i = $_; chr($i % 10) . join "", map { chr(int($i % 10 * 25 + rand 6)) } 1..3072 } 0..59;
		print $b for 1..shift' "$1" "$2" >"data_batch_$1.bin"
	im2rec -q -o "$1.rec" "data_batch_$1.bin"
}
pack 1 8
pack 2 8
pack 3 1
mkfifo quiet
# Waits at most 30 seconds until a file has a matching line; the pipe is always empty.
until_line() { # FILE PATTERN
	for _ in $(seq 600); do
		grep -q "$2" "$1" && return
		read -rt 0.05 <>quiet
	done
}
# Serves records; $holder is the process, $at its address.  Each has a pipe of its own: that of the previous one may
# still be open, and would end without an address.
hold() { # NAME ADDRESS FILE
	rm -f ready && mkfifo ready
	im2rec --serve --listen "$2" --key-file key --ready-fd 9 "$3" 9>ready 2>"$1.err" &
	holder=$!
	read -r at <ready
}

status 2 "im2rec --serve needs a key" im2rec --serve 1.rec
status 2 "im2rec --serve refuses a --ready-fd that is closed" timeout 20 im2rec --serve --key-file key --ready-fd 77 1.rec
is "$(cat err)" "im2rec: --ready-fd: descriptor 77 is not open for writing; open it, as in 77>FILE" \
	"the error names the closed descriptor"
status 2 "im2rec --serve refuses a --ready-fd that is open for reading" timeout 20 im2rec --serve --key-file key --ready-fd 7 1.rec 7<key
status 2 "im2rec --serve needs records" im2rec --serve --key-file key
status 1 "im2rec --serve fails if the records are missing" im2rec --serve --key-file key nowhere.rec
like err '^im2rec: nowhere\.rec: ' "the error names the missing records"
cp key open
chmod 644 open
status 1 "im2rec --serve refuses a key that others may read" im2rec --serve --key-file open 1.rec
status 2 "im2rec --serve refuses a malformed address" im2rec --serve --key-file key --listen nowhere 1.rec

train="--net mlp --shape 3x28x28 --batch 8 --lr 0.01 --scale 0.00390625 --rand-crop --rand-mirror"
hold one 127.0.0.1:0 1.rec
one=$holder at1=$at
like one.err "^im2rec: 1\.rec: 480 records at $at\$" "im2rec --serve reports records and address"
hold val 127.0.0.1:0 3.rec
status 0 "a job of two workers reads the file" dlaunch -n 2 -s 2 pworker $train --epochs 2 --data 1.rec --val 3.rec --save file
status 0 "a job of two workers reads from two servers" \
	dlaunch -n 2 -s 2 pworker $train --epochs 2 --data "$at1" --val "$at" --data-key-file key --save afar
ok "the weights are the same, to the last bit" cmp file-0002.safetensors afar-0002.safetensors
like val.err ' reads$' "im2rec --serve reports who reads"

status 1 "pworker with another key fails" pworker $train --epochs 1 --data "$at1" --key-file other
like err "^pworker: $at1: refused this job's key" "the error names the server that refused the key"
status 2 "pworker without a key is refused" pworker $train --epochs 1 --data "$at1"
like err '^pworker: .*--data-key-file' "the error names --data-key-file"
hold two 127.0.0.1:0 2.rec
mkfifo servers
pserver --listen 127.0.0.1:0 --workers 2 --key-file key --ready-fd 9 9>servers 2>pserver.err &
read -r server <servers
pworker $train --epochs 1 --data "$at1" --servers "$server" --worker 0/2 --key-file key >0.tsv 2>0.err &
status 2 "workers that read different records are refused" \
	pworker $train --epochs 1 --data "$at" --servers "$server" --worker 1/2 --key-file key
like err 'what is in the records: not the same in all workers' "the error says that the records differ"

# The server dies in the middle, and another takes its place.  After the first step the worker's rows are read only when
# the server is dead: a pipe of one page holds some 40 of 200 rows.
mkfifo rows go
perl -e 'open(my $rows, "<", "rows") or die; fcntl($rows, 1031, 4096); $| = 1; # F_SETPIPE_SZ
	while (<$rows>) { print; last if /\tstep\t/ }
	open(my $go, "<", "go"); print while <$rows>' >died.tsv &
pworker $train --data "$at1" --key-file key --steps 200 --save died >rows 2>died.err &
worker=$!
until_line died.tsv '	step	'
kill -KILL $one
wait $one 2>/dev/null
: >go
until_line died.err '^pworker: waiting for the records of '
like died.err "^pworker: waiting for the records of $at1\$" "a worker whose server died reports for whom it waits"
hold again "$at1" 1.rec
wait $worker
is $? 0 "the worker continues when the server is back"
status 0 "a worker trains the same without interruption" pworker $train --data 1.rec --steps 200 --save well
ok "the interrupted and the undisturbed run give the same weights" \
	cmp died-0003-000020.safetensors well-0003-000020.safetensors
kill -TERM "$holder"
wait "$holder"
is $? 143 "SIGTERM ends im2rec --serve"
like again.err '^im2rec: 1 readers, [0-9]+ records, [0-9.]+ MB sent, [0-9.]+ s, 0 unauthenticated connections$' \
	"im2rec --serve reports its totals at the end"

# Several workers that start at once need the same mean.
for i in 1 2 3 4; do
	pworker $train --data 1.rec --steps 2 --mean mean.bin --save mean$i >/dev/null 2>mean$i.err &
	pids="${pids:-} $!"
done
for p in $pids; do
	wait "$p"
	is $? 0 "a worker with a mean exits with 0"
done
is "$(cat mean?.err | grep -c '^pworker: mean\.bin: made from the records of 1\.rec$')" 1 \
	"one of four workers makes the mean"
is "$(cat mean?-*.safetensors | wc -c)" "$((4 * $(cat mean1-*.safetensors | wc -c)))" "all four workers save weights"
for i in 2 3 4; do
	ok "all four workers subtract the same mean" cmp mean1-*.safetensors mean$i-*.safetensors
done
is "$(ls mean.bin*)" mean.bin "no lock of the mean is left"
(ulimit -f 1; exec pworker $train --data 3.rec --steps 2 --mean late.bin) >/dev/null 2>late.err
is $? 1 "a worker that cannot write the mean exits with 1"
like late.err '^pworker: late\.bin.*: File too large' "the error names the mean"
is "$(ls late.bin* 2>/dev/null)" "" "a worker that cannot write the mean leaves nothing"
sh -c 'echo "$(uname -n) $$"' >late.bin.lock
status 0 "the next worker takes the lock over" pworker $train --data 3.rec --steps 2 --mean late.bin
like err '^pworker: late\.bin: made from ' "the next worker makes the mean"
is "$(ls late.bin*)" late.bin "the next worker leaves no lock"
status 1 "a mean of another shape is refused" pworker --net lenet --data 1.rec --steps 2 --mean late.bin
like err 'late\.bin: its shape is \(3,28,28\), that of a sample \(1,28,28\); name another file' "the error gives both shapes"
hold mean 127.0.0.1:0 3.rec
status 0 "pworker makes a mean from a server's records" \
	pworker $train --data "$at" --key-file key --steps 2 --mean afar.bin
ok "the mean from a server is the file's" cmp late.bin afar.bin
done_testing
