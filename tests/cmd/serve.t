#!/usr/bin/env bash
# serve.t - one host holds the records: the same weights as from the file, a holder that dies, keys; and one mean for many.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$T"' EXIT

(umask 077; openssl rand -hex 32 >key; openssl rand -hex 32 >other)
# So many pictures of 32x32 in CIFAR's format, 60 different ones over and over.
pictures() { # SEED TIMES
	perl -e 'srand shift; $b = join "", map { $i = $_; chr($i % 10) . join "", map { chr(int($i % 10 * 25 + rand 6)) } 1..3072 } 0..59;
		print $b for 1..shift' "$1" "$2" >"data_batch_$1.bin"
	im2rec -q -o "$1.rec" "data_batch_$1.bin"
}
pictures 1 8
pictures 2 8
pictures 3 1
mkfifo quiet
# Waits until a file has such a line, for 30 seconds at most; nothing ever comes through the pipe.
until_line() { # FILE PATTERN
	for _ in $(seq 600); do
		grep -q "$2" "$1" && return
		read -rt 0.05 <>quiet
	done
}
# Holds records; $holder is the process, $at its address.  It comes through a pipe of its own: that of the one before may
# not have been closed yet, and would then end with nothing in it.
hold() { # NAME ADDRESS FILE
	rm -f ready && mkfifo ready
	im2rec --serve --listen "$2" --key-file key --ready-fd 9 "$3" 9>ready 2>"$1.err" &
	holder=$!
	read -r at <ready
}

status 2 "a holder without a key" im2rec --serve 1.rec
status 2 "... without records" im2rec --serve --key-file key
status 1 "... of records that are not there" im2rec --serve --key-file key nowhere.rec
like err '^im2rec: nowhere\.rec: ' "... which are named"
cp key open
chmod 644 open
status 1 "... with a key that others may read" im2rec --serve --key-file open 1.rec
status 2 "... at no address" im2rec --serve --key-file key --listen nowhere 1.rec

train="--net mlp --shape 3x28x28 --batch 8 --lr 0.01 --scale 0.00390625 --rand-crop --rand-mirror"
hold one 127.0.0.1:0 1.rec
one=$holder at1=$at
like one.err "^im2rec: 1\.rec: 480 records at $at\$" "a line when it listens"
hold val 127.0.0.1:0 3.rec
status 0 "a job of two workers reads the file" dlaunch -n 2 -s 2 pworker $train --epochs 2 --data 1.rec --val 3.rec --save file
status 0 "... and the holder" \
	dlaunch -n 2 -s 2 pworker $train --epochs 2 --data "$at1" --val "$at" --data-key-file key --save afar
ok "the weights are the same, to the last bit" cmp file-0002.safetensors afar-0002.safetensors
like val.err ' reads$' "the holder tells who reads"

status 1 "who has another key" pworker $train --epochs 1 --data "$at1" --key-file other
like err "^pworker: $at1: refused this job's key" "... is refused"
status 2 "who has none" pworker $train --epochs 1 --data "$at1"
like err '^pworker: .*--data-key-file' "... is told what is missing"
hold two 127.0.0.1:0 2.rec
mkfifo servers
pserver --listen 127.0.0.1:0 --workers 2 --key-file key --ready-fd 9 9>servers 2>pserver.err &
read -r server <servers
pworker $train --epochs 1 --data "$at1" --servers "$server" --worker 0/2 --key-file key >0.tsv 2>0.err &
status 2 "workers that read from different holders" \
	pworker $train --epochs 1 --data "$at" --servers "$server" --worker 1/2 --key-file key
like err 'what is in the records: not the same in all workers' "... learn that the records differ"

# The holder dies in the middle, and another takes its place.  Behind the first step the worker's rows are taken when it is
# dead: of 200 there is room for some 40 in a pipe of a page.
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
like died.err "^pworker: waiting for the records of $at1\$" "a worker whose holder dies says for whom it waits"
hold again "$at1" 1.rec
wait $worker
is $? 0 "... and goes on when it is back"
status 0 "the same without such trouble" pworker $train --data 1.rec --steps 200 --save well
ok "... gives the same weights" cmp died-0003-000020.safetensors well-0003-000020.safetensors
kill -TERM "$holder"
wait "$holder"
is $? 143 "SIGTERM ends a holder"
like again.err '^im2rec: 1 readers, [0-9]+ records, [0-9.]+ MB out, [0-9.]+ s, 0 strangers$' "... with a line of what it did"

# Many that start at once want the same mean.
for i in 1 2 3 4; do
	pworker $train --data 1.rec --steps 2 --mean mean.bin --save mean$i >/dev/null 2>mean$i.err &
	pids="${pids:-} $!"
done
for p in $pids; do
	wait "$p"
	is $? 0 "a worker with a mean"
done
is "$(cat mean?.err | grep -c '^pworker: mean\.bin: made from the records of 1\.rec$')" 1 "of four at once one makes it"
is "$(cat mean?-*.safetensors | wc -c)" "$((4 * $(cat mean1-*.safetensors | wc -c)))" "... for all"
for i in 2 3 4; do
	ok "... and all subtract the same" cmp mean1-*.safetensors mean$i-*.safetensors
done
is "$(ls mean.bin*)" mean.bin "no lock is left"
# The first write of more than 1 KiB, which is the mean's, ends the process.
(ulimit -f 1; exec pworker $train --data 3.rec --steps 2 --mean late.bin) >/dev/null 2>&1
is "$?" "$((128 + $(kill -l XFSZ)))" "one that is killed in the middle"
is "$(ls late.bin late.bin.lock* 2>/dev/null)" late.bin.lock "... leaves a lock and no mean"
rm -f late.bin.*.tmp
status 0 "... which the next one takes over" pworker $train --data 3.rec --steps 2 --mean late.bin
like err '^pworker: late\.bin: made from ' "... and makes the mean"
is "$(ls late.bin*)" late.bin "... and leaves none"
status 1 "a mean of another shape" pworker --net lenet --data 1.rec --steps 2 --mean late.bin
like err 'late\.bin: its shape is \(3,28,28\), that of a sample \(1,28,28\)$' "... is refused by both shapes"
hold mean 127.0.0.1:0 3.rec
status 0 "a mean from afar" pworker $train --data "$at" --key-file key --steps 2 --mean afar.bin
ok "... is the same" cmp late.bin afar.bin
done_testing
