#!/usr/bin/env bash
# pserver.t - a server by hand: options, the key, workers that come, are refused, stop and die, and its exit codes.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$T"' EXIT

(umask 077; echo 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f >key)
(umask 077; echo 100102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f >other)
status 2 "pserver refuses an empty command line" pserver
like err '^usage: pserver ' "pserver prints its usage then"
status 2 "--server refuses a rank beyond the last" pserver --listen 127.0.0.1:0 --workers 1 --server 2/2 --key-file key
like err '^pserver: --server: ' "the error names --server"
status 2 "--workers refuses 0" pserver --listen 127.0.0.1:0 --workers 0 --key-file key
status 2 "pserver refuses operands" pserver --listen 127.0.0.1:0 --workers 1 --key-file key more
status 1 "--key-file refuses a missing file" pserver --listen 127.0.0.1:0 --workers 1 --key-file nowhere
like err '^pserver: nowhere: ' "the error names the file"
chmod 644 other
status 1 "--key-file refuses a file that others can read" pserver --listen 127.0.0.1:0 --workers 1 --key-file other
chmod 600 other
status 2 "--listen refuses a word without a port" pserver --listen nowhere --workers 1 --key-file key
is "$(cat err)" "pserver: --listen: 'nowhere' is not host:port" "the error quotes the word"
status 2 "--listen refuses port 70000" pserver --listen 127.0.0.1:70000 --workers 1 --key-file key
is "$(cat err)" "pserver: --listen: port: 70000 is not in 0..65535" "the error gives the bounds of a port"
status 1 "pserver fails if no interface has the address" pserver --listen 192.0.2.1:1 --workers 1 --key-file key
is "$(sed 's/: Cannot.*//' err)" "pserver: listen at 192.0.2.1:1" "the error names the address in one line"
status 2 "--listen needs a key or --plain" pserver --listen 127.0.0.1:0 --workers 1
is "$(cat err)" "pserver: --listen: needs --key-file, or --plain, with which anybody may take part" "the error names both"
status 2 "a server of a tracker needs a key or --plain" env DMLC_ROLE=server pserver
is "$(cat err)" "pserver: DMLC_ROLE: needs --key-file, or --plain, with which anybody may take part" "the error names both and DMLC_ROLE"
status 2 "--listen needs --workers" pserver --listen 127.0.0.1:0 --plain
is "$(cat err)" "pserver: --listen: needs --workers" "the error names --workers"

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
like alone.err "^pserver: listens at $at as server 0 of 1$" "pserver reports its address when it listens"
kill -TERM "$server"
ended 143 "SIGTERM ends pserver with status 143"
is "$(grep -c plain alone.err)" 0 "a server with a key says nothing of --plain"
few() { (ulimit -n 64 && exec pserver --listen 127.0.0.1:0 --workers 100 --plain) 2>err; }
few
is $? 1 "pserver refuses more workers than it may have open files"
is "$(cat err)" "pserver: 100 workers need 132 open files, and the limit is 64 (ulimit -n)" "the error names both numbers"
rm -f ready && mkfifo ready
(ulimit -Sn 64 && exec pserver --listen 127.0.0.1:0 --workers 100 --plain --ready-fd 9) 9>ready 2>err &
server=$!
read -r at <ready
ok "pserver raises its limit of open files where it may" \
	test "$(sed -n 's/^Max open files *\([0-9]*\) .*/\1/p' "/proc/$server/limits")" -ge 132
kill -TERM "$server"
ended 143 "SIGTERM ends that pserver too"
rm -f ready && mkfifo ready
pserver --listen 127.0.0.1:0 --workers 1 --plain --ready-fd 9 9>ready 2>plain.err &
server=$!
read -r at <ready
kill -TERM "$server"
ended 143 "SIGTERM ends pserver --plain with status 143"
like plain.err '^pserver: --plain: nothing is encrypted, and anybody may take part$' "pserver --plain says that nothing is encrypted"
like alone.err '^pserver: 0 steps, 0\.0 MB received, 0\.0 MB sent, 0\.0 s, 0 unauthenticated connections$' \
	"pserver reports its sums at the end"
serve alone 1
kill -INT "$server" 2>/dev/null
ended 130 "SIGINT ends pserver with status 130"

status 2 "pserver refuses a --ready-fd that is closed" timeout 20 pserver --listen 127.0.0.1:0 --workers 1 --plain --ready-fd 77
is "$(cat err)" "pserver: --ready-fd: descriptor 77 is not open for writing; open it, as in 77>FILE" \
	"the error names the closed descriptor"
status 2 "pserver refuses a --ready-fd that is open for reading" \
	timeout 20 pserver --listen 127.0.0.1:0 --workers 1 --plain --ready-fd 7 7<key
status 2 "--listen-fd refuses a descriptor that does not listen" \
	pserver --listen 127.0.0.1:1 --listen-fd 7 --workers 1 --plain 7<key
is "$(cat err)" "pserver: --listen-fd: descriptor 7 is not a socket that listens" "the error names the descriptor"
# Its giver made it blocking.
rm -f ready && mkfifo ready
perl -MIO::Socket::INET -e '$^F = 20; $s = IO::Socket::INET->new(LocalAddr => "127.0.0.1:0", Listen => 5) or die;
	exec @ARGV, "--listen", "127.0.0.1:" . $s->sockport, "--listen-fd", fileno $s' \
	pserver --workers 1 --plain --ready-fd 9 9>ready 2>given.err &
server=$!
read -r at <ready
given=$(find /proc/$server/fd -lname 'socket:*' -printf '%f\n' | head -n 1)
flags=$(sed -n 's/^flags:[[:space:]]*//p' "/proc/$server/fdinfo/$given")
is $((flags & 04000)) $((04000)) "a socket of --listen-fd becomes non-blocking"
kill -TERM "$server"
ended 143 "a server with a socket of --listen-fd ends as asked"

# 60 pictures of 32x32 in CIFAR's format.
mkdir c
perl -e 'srand 1; for $i (0..59) { print chr($i % 10), join "", map { chr(int($i % 10 * 25 + rand 6)) } 1..3072 }' >c/data_batch_1.bin
status 0 "im2rec packs images" im2rec -q c/data_batch_1.bin -o train.rec
train="pworker --net mlp --shape 3x28x28 --data train.rec --batch 8 --lr 0.01 --scale 0.00390625 --steps 6"

serve two 2
$train --servers "$at" --worker 1/2 --key-file key >1.tsv 2>1.err &
worker=$!
status 0 "worker 0 of 2 trains" $train --servers "$at" --worker 0/2 --key-file key --save two
wait "$worker"
is $? 0 "worker 1 of 2 exits with 0"
ended 0 "the server of two workers exits with 0"
like two.err '^pserver: 6 steps, [0-9.]+ MB received, [0-9.]+ MB sent, [0-9.]+ s, 0 unauthenticated connections$' \
	"the server reports its steps and traffic"
rm -f ready && mkfifo ready
perl "$TOP/tests/cmd/pty.pl" 80 24 sh -c 'exec pserver --listen 127.0.0.1:0 --workers 1 --key-file key --ready-fd 9 9>ready' >tty &
server=$!
read -r at <ready
status 0 "a worker trains with a server on a terminal" ${train/--steps 6/--epochs 1} --servers "$at" --key-file key
ended 0 "the server on a terminal exits with 0"
is "$(tr -d '\r' <tty | sed 's/[0-9.]* s\b/T s/; s/[0-9.]* MB/M MB/g; s/ at .* as/ at A as/; s/[0-9]* steps/N steps/
	s/holds [0-9]* of [0-9]*/holds N/')" \
	"pserver: listens at A as server 0 of 1
pserver: holds N weights for 1 worker
pserver: epoch 1: M MB received, M MB sent, T s
pserver: N steps, M MB received, M MB sent, T s, 0 unauthenticated connections" "a terminal gets a line an epoch and no rows"
status 0 "one worker trains with two micro-batches a step" $train --accumulate 2 --save one
# What stands in front of the tensors names the options, which differ.
tensors() { tail -c +$(($(od -An -tu8 -N8 "$1") + 9)) "$1"; }
for j in two one; do tensors $j-*.safetensors >$j.bytes; done
ok "two workers and two micro-batches give the same bits" cmp two.bytes one.bytes

serve keys 1
status 1 "a worker with another key fails" $train --servers "$at" --key-file other
like err "^pworker: .*$at" "the worker's error names the server"
status 0 "a worker with the job's key trains" $train --servers "$at" --key-file key
ended 0 "the server exits with 0 after the stranger"
like keys.err ' 1 unauthenticated connections$' "the server counts one stranger"
like keys.err '^pserver: refused 127\.0\.0\.1:[0-9]+: holds the key of another job$' "the server reports its address and the reason"

serve jobs 2
$train --servers "$at" --worker 1/2 --key-file key >1.tsv 2>1.err &
worker=$!
until_line jobs.err ' weights for 2 workers'
status 2 "a worker with another momentum is refused" $train --servers "$at" --worker 0/2 --key-file key --momentum 0.5
like err 'momentum is 0\.9 here and 0\.5 there' "the worker's error gives both momentums"
kill -KILL "$worker"
ended 75 "the server exits with 75 if a worker was killed"
like jobs.err '^pserver: worker 1 is lost: ' "the server names the lost worker"

serve short 2
$train --servers "$at" --worker 1/2 --key-file key --drop-last >1.tsv 2>1.err &
worker=$!
status 2 "workers of which one has --drop-last are refused" $train --servers "$at" --worker 0/2 --key-file key
like err '^pworker: --drop-last: not the same in all workers$' "the error names --drop-last"
wait "$worker"
is $? 2 "the worker with --drop-last is refused too"
wait "$server"

# A second worker of the same rank, by hand.
serve again 2
$train --servers "$at" --worker 0/2 --key-file key --save again >0.tsv 2>0.err &
worker=$!
until_line again.err ' weights for 2 workers'
status 2 "a second worker 0 is refused while the first answers" timeout 60 $train --servers "$at" --worker 0/2 --key-file key
like err '^pworker: server 0 .*: worker 0 is connected already, from 127\.0\.0\.1:[0-9]+, and answers$' \
	"the error gives the address of the first worker 0"
status 0 "worker 1 trains beside the refused worker" $train --servers "$at" --worker 1/2 --key-file key
wait "$worker"
is $? 0 "the first worker 0 exits with 0"
ended 0 "the server exits with 0 after the refusal"
like again.err '^pserver: refused 127\.0\.0\.1:[0-9]+: worker 0 is connected already' "the server names the worker that it refused"
tensors again-*.safetensors >again.bytes
ok "the weights are those of an undisturbed job" cmp again.bytes one.bytes

# One that is stopped does not answer, as one whose host is gone.
serve stopped 2
$train --servers "$at" --worker 0/2 --key-file key >0.tsv 2>0.err &
first=$!
until_line stopped.err ' weights for 2 workers'
kill -STOP "$first"
$train --servers "$at" --worker 0/2 --key-file key --save stopped >1.tsv 2>1.err &
worker=$!
until_line stopped.err ' worker 0 reconnected from '
like stopped.err ' worker 0 reconnected from ' "a second worker 0 replaces a first that does not answer"
status 0 "worker 1 trains with the second worker 0" $train --servers "$at" --worker 1/2 --key-file key
wait "$worker"
is $? 0 "the second worker 0 exits with 0"
ended 0 "the server exits with 0 after the replacement"
{ kill -KILL "$first"; wait "$first"; } 2>/dev/null
tensors stopped-*.safetensors >stopped.bytes
ok "the weights are the same as without the replacement" cmp stopped.bytes one.bytes

serve stop 2
$train --servers "$at" --worker 1/2 --key-file key >1.tsv 2>1.err &
worker=$!
until_line stop.err ' weights for 2 workers'
kill -TERM "$server"
ended 143 "SIGTERM ends a server of a job"
wait "$worker"
is $? 75 "the workers of an ended server exit with 75"

# The port that was just free again: the worker tries until the server is there.
$train --servers "$at" --key-file key >1.tsv 2>1.err &
worker=$!
read -rt 0.3 <>quiet
pserver --listen "$at" --workers 1 --key-file key 2>late.err &
server=$!
wait "$worker"
is $? 0 "a worker waits for its server"
ended 0 "the late server exits with 0"
done_testing
