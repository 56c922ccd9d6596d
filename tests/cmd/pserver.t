#!/usr/bin/env bash
# pserver.t - a server by hand: options, the key, workers that come, are refused, stop and die, and its exit codes.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$T"' EXIT

(umask 077; echo 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f >key)
(umask 077; echo 100102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f >other)
status 2 "no arguments" pserver
like err '^usage: pserver ' "... is answered by the usage"
status 2 "a server beyond the last" pserver --listen 127.0.0.1:0 --workers 1 --server 2/2 --key-file key
like err '^pserver: --server: ' "... is named"
status 2 "no workers" pserver --listen 127.0.0.1:0 --workers 0 --key-file key
status 2 "words that nobody asked for" pserver --listen 127.0.0.1:0 --workers 1 --key-file key more
status 1 "a key that is not there" pserver --listen 127.0.0.1:0 --workers 1 --key-file nowhere
like err '^pserver: nowhere: ' "... is named"
chmod 644 other
status 1 "a key that others may read" pserver --listen 127.0.0.1:0 --workers 1 --key-file other
chmod 600 other
status 2 "an address that is none" pserver --listen nowhere --workers 1 --key-file key
is "$(cat err)" "pserver: --listen: 'nowhere' is not host:port" "... is named"
status 2 "a port that is none" pserver --listen 127.0.0.1:70000 --workers 1 --key-file key
is "$(cat err)" "pserver: --listen: port: 70000 is not in 0..65535" "... is named"
status 1 "an address that is nobody's here" pserver --listen 192.0.2.1:1 --workers 1 --key-file key
is "$(sed 's/: Cannot.*//' err)" "pserver: listen at 192.0.2.1:1" "... is named, in one line"
status 2 "neither a key nor --plain" pserver --listen 127.0.0.1:0 --workers 1
is "$(cat err)" "pserver: --listen: needs --key-file, or --plain: then anybody may take part" "... is asked for"
status 2 "neither, under a tracker" env DMLC_ROLE=server pserver
is "$(cat err)" "pserver: DMLC_ROLE: needs --key-file, or --plain: then anybody may take part" "... is asked for"
status 2 "nobody said how many workers" pserver --listen 127.0.0.1:0 --plain
is "$(cat err)" "pserver: --listen: needs --workers: how many there are" "... is asked for"

# Waits until a file has such a line, for 30 seconds at most; nothing ever comes through the pipe.
until_line() { # FILE PATTERN
	for _ in $(seq 600); do
		grep -q "$2" "$1" && return
		read -rt 0.05 <>quiet
	done
}
mkfifo quiet
# Starts a server for so many workers; $server is its process, $at its address.  More words are its options.  The address
# comes through a pipe of its own: that of the one before may not have been closed yet, and would then end with nothing in it.
serve() { # NAME WORKERS ...
	serve_name=$1 serve_workers=$2
	shift 2
	rm -f ready && mkfifo ready
	pserver --listen 127.0.0.1:0 --workers "$serve_workers" --key-file key --ready-fd 9 "$@" 9>ready 2>"$serve_name.err" &
	server=$!
	read -r at <ready
}
ended() { # STATUS NAME
	wait "$server"
	is $? "$1" "$2"
}

serve alone 1
like alone.err "^pserver: listens at $at as server 0 of 1$" "a line when it listens"
kill -TERM "$server"
ended 143 "SIGTERM ends it"
like alone.err '^pserver: 0 steps, 0\.0 MB in, 0\.0 MB out, 0\.0 s, 0 strangers$' "a line at its end"
serve alone 1
kill -INT "$server" 2>/dev/null
ended 130 "so does SIGINT"

# 60 pictures of 32x32 in CIFAR's format.
mkdir c
perl -e 'srand 1; for $i (0..59) { print chr($i % 10), join "", map { chr(int($i % 10 * 25 + rand 6)) } 1..3072 }' >c/data_batch_1.bin
status 0 "pictures" im2rec -q c/data_batch_1.bin -o train.rec
train="pworker --net mlp --shape 3x28x28 --data train.rec --batch 8 --lr 0.01 --scale 0.00390625 --steps 6"

serve two 2
$train --servers "$at" --worker 1/2 --key-file key >1.tsv 2>1.err &
worker=$!
status 0 "a job of two workers" $train --servers "$at" --worker 0/2 --key-file key --save two
wait "$worker"
is $? 0 "... ends well for both"
ended 0 "... and for the server"
like two.err '^pserver: 6 steps, [0-9.]+ MB in, [0-9.]+ MB out, [0-9.]+ s, 0 strangers$' "... which counted"
status 0 "one worker that adds two pieces" $train --accumulate 2 --save one
# What stands in front of the tensors names the options, which differ.
tensors() { tail -c +$(($(od -An -tu8 -N8 "$1") + 9)) "$1"; }
for j in two one; do tensors $j-*.safetensors >$j.bytes; done
ok "... has the same weights, to the last bit" cmp two.bytes one.bytes

serve keys 1
status 1 "a worker with another key" $train --servers "$at" --key-file other
like err "^pworker: .*$at" "... learns at whom it failed"
status 0 "one with the job's" $train --servers "$at" --key-file key
ended 0 "... ends the job"
like keys.err ' 1 strangers$' "... and the other was a stranger"

serve jobs 2
$train --servers "$at" --worker 1/2 --key-file key >1.tsv 2>1.err &
worker=$!
until_line jobs.err ' weights for 2 workers'
status 2 "a worker with another momentum" $train --servers "$at" --worker 0/2 --key-file key --momentum 0.5
like err 'momentum is 0\.9 here and 0\.5 there' "... is told what differs"
kill -KILL "$worker"
ended 75 "a worker that was killed ends the server with 75"
like jobs.err '^pserver: worker 1 is lost: ' "... which says who it was"

# A second worker of the same rank, by hand.
serve again 2
$train --servers "$at" --worker 0/2 --key-file key --save again >0.tsv 2>0.err &
worker=$!
until_line again.err ' weights for 2 workers'
status 2 "a second worker 0 is refused while the first answers" timeout 60 $train --servers "$at" --worker 0/2 --key-file key
like err '^pworker: server 0 .*: worker 0 is connected already, from 127\.0\.0\.1:[0-9]+, and answers$' "... and told why"
status 0 "... which disturbs nobody" $train --servers "$at" --worker 1/2 --key-file key
wait "$worker"
is $? 0 "... nor the first"
ended 0 "... nor the server"
like again.err '^pserver: refused 127\.0\.0\.1:[0-9]+: worker 0 is connected already' "... which says whom it refused"
tensors again-*.safetensors >again.bytes
ok "... and the weights are those of an undisturbed job" cmp again.bytes one.bytes

# One that is stopped does not answer, as one whose host is gone.
serve stopped 2
$train --servers "$at" --worker 0/2 --key-file key >0.tsv 2>0.err &
first=$!
until_line stopped.err ' weights for 2 workers'
kill -STOP "$first"
$train --servers "$at" --worker 0/2 --key-file key --save stopped >1.tsv 2>1.err &
worker=$!
until_line stopped.err ' worker 0 reconnected from '
like stopped.err ' worker 0 reconnected from ' "a second worker 0 takes the place of a first that does not answer"
status 0 "... and the job goes on" $train --servers "$at" --worker 1/2 --key-file key
wait "$worker"
is $? 0 "... with it"
ended 0 "... and the server"
{ kill -KILL "$first"; wait "$first"; } 2>/dev/null
tensors stopped-*.safetensors >stopped.bytes
ok "... to the same weights" cmp stopped.bytes one.bytes

serve stop 2
$train --servers "$at" --worker 1/2 --key-file key >1.tsv 2>1.err &
worker=$!
until_line stop.err ' weights for 2 workers'
kill -TERM "$server"
ended 143 "a server that is stopped"
wait "$worker"
is $? 75 "... ends its workers with 75"

# The port that was just free again: the worker tries until the server is there.
$train --servers "$at" --key-file key >1.tsv 2>1.err &
worker=$!
read -rt 0.3 <>quiet
pserver --listen "$at" --workers 1 --key-file key 2>late.err &
server=$!
wait "$worker"
is $? 0 "a worker that is there before its server"
ended 0 "... and the server"
done_testing
