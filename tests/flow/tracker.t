#!/usr/bin/env bash
# tracker.t - our workers and servers under a tracker that sets only DMLC_*, as dmlc's do: one command in all roles.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$T"' EXIT

mkdir c
perl -e 'srand 1; for $i (0..59) { print chr($i % 10), map { chr(int($i % 10 * 25 + rand 6)) } 1..3072 }' \
	>c/data_batch_1.bin
im2rec c/data_batch_1.bin -o train.rec 2>im2rec.err
od -An -tx1 -N32 /dev/urandom | tr -d ' \n' >key
od -An -tx1 -N32 /dev/urandom | tr -d ' \n' >other
chmod 600 key other
net="pworker --net mlp --shape 3x28x28 --data train.rec --lr 0.05 --scale 0.00390625 --batch 8 --epochs 2"
# A port that nobody listens at, and that the kernel gives to nobody by itself: neither to who wants any port, nor to who calls.
free_port() {
	perl -MIO::Socket::INET -e 'for (1 .. 1000) {
		my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1:" . (10000 + int rand 20000)) or next;
		print $s->sockport; last }'
}

# track WORKERS SERVERS COMMAND...: as tracker/local.py does it; TASK=yes gives ranks, NODE an address.  Outputs are in
# ROLE.RANK and ROLE.RANK.err, statuses in $statuses.
track() {
	local w=$1 s=$2 i who
	shift 2
	export DMLC_NUM_WORKER=$w DMLC_NUM_SERVER=$s DMLC_PS_ROOT_URI=127.0.0.1 DMLC_PS_ROOT_PORT=$(free_port)
	local -A pid=()
	rm -f worker.* server.* scheduler.*
	for who in $(for ((i = 0; i < w; i++)); do echo worker.$i; done; for ((i = 0; i < s; i++)); do echo server.$i; done) scheduler.0; do
		env DMLC_ROLE="${who%.*}" ${TASK:+DMLC_TASK_ID=${who#*.}} ${NODE:+DMLC_NODE_HOST=$NODE} "$@" >"$who" 2>"$who.err" &
		pid[$who]=$!
	done
	statuses=
	for who in $(printf '%s\n' "${!pid[@]}" | sort); do
		wait "${pid[$who]}"
		statuses="$statuses $who=$?"
	done
	unset DMLC_NUM_WORKER DMLC_NUM_SERVER DMLC_PS_ROOT_URI DMLC_PS_ROOT_PORT
}
well=" scheduler.0=0 server.0=0 server.1=0 worker.0=0 worker.1=0"

status 0 "the same job under dlaunch exits with 0" dlaunch -n 2 -s 2 $net --save want
TASK=yes track 2 2 $net --save ranks --key-file key
is "$statuses" "$well" "under a tracker that gives ranks all processes exit with 0"
ok "the weights equal those of dlaunch" cmp want-0002.safetensors ranks-0002.safetensors
like worker.1.err '^pworker: is worker 1 of 2, servers 127\.0\.0\.1:[0-9]+,127\.0\.0\.1:[0-9]+$' \
	"worker 1 has the rank that the tracker gave"
NODE=localhost track 2 2 $net --save none --key-file key
is "$statuses" "$well" "under a tracker that gives no ranks all processes exit with 0"
ok "without ranks the weights are the same" cmp want-0002.safetensors none-0002.safetensors
is "$(cat worker.?.err | grep -c '^pworker: is worker [01] of 2, servers localhost:[0-9]*,localhost:[0-9]*$')" 2 \
	"each worker has a rank, and servers the address of DMLC_NODE_HOST"
track 2 2 $net --save plain --plain
is "$statuses" "$well" "all processes exit with 0 with --plain and without a key"
is "$(cat worker.?.err | grep -c '^pworker: --plain: nothing is encrypted, and anybody may take part$')" 2 \
	"each worker says that nothing is encrypted"
ok "the weights are the same with --plain" cmp want-0002.safetensors plain-0002.safetensors
status 0 "the job runs under dlaunch's DMLC variables" dlaunch -n 2 -s 2 -- sh -c "exec $net --save under --key-file key"
ok "under dlaunch the weights are the same" cmp want-0002.safetensors under-0002.safetensors
status 0 "workers have batches of different sizes" dlaunch -n 2 -s 1 -- sh -c "exec $net --batch 4:12 --save uneven --plain"

# Processes that the scheduler refuses.
export DMLC_ROLE=worker DMLC_PS_ROOT_URI=127.0.0.1 DMLC_NUM_WORKER=1 DMLC_NUM_SERVER=1
DMLC_PS_ROOT_PORT=$(free_port)
export DMLC_PS_ROOT_PORT
status 2 "a worker without a key or --plain is refused" $net
like err '^pworker: DMLC_ROLE: needs --key-file, or --plain, with which anybody may take part$' \
	"the error asks for --key-file or --plain"
DMLC_ROLE=scheduler pserver --key-file key 2>scheduler.err &
scheduler=$!
status 1 "a worker with another key is refused" $net --key-file other
like err "^pworker: scheduler 127\.0\.0\.1:$DMLC_PS_ROOT_PORT: " "the error names the scheduler"
status 2 "a worker of another job is refused" env DMLC_NUM_WORKER=2 $net --key-file key
like err 'the scheduler refuses: 2 workers and 1 servers, but the job has 1 and 1$' "the scheduler gives the reason"
status 2 "a rank outside the job is refused" env DMLC_TASK_ID=1 $net --key-file key
like err '^pworker: DMLC_TASK_ID: 1 is not in 0\.\.0$' "the error names DMLC_TASK_ID"
status 2 "an unknown role is refused" env DMLC_ROLE=manager $net --key-file key
status 2 "a malformed number is refused" env DMLC_NUM_WORKER=x $net --key-file key
like err '^pworker: DMLC_NUM_WORKER: ' "the error names DMLC_NUM_WORKER"
status 2 "a missing scheduler address is refused" env -u DMLC_PS_ROOT_URI $net --key-file key
mkfifo held
perl -MIO::Socket::INET -e 'for (1 .. 80) {
	push @h, IO::Socket::INET->new(PeerAddr => "127.0.0.1:$ENV{DMLC_PS_ROOT_PORT}") or die }
	open F, ">held" and close F; sleep' &
silent=$!
read -r _ <held
DMLC_ROLE=server pserver --key-file key 2>server.err &
server=$!
status 0 "a worker of the job is accepted" $net --key-file key --epochs 1
wait $server
is $? 0 "the server ends with status 0"
wait $scheduler
is $? 0 "the scheduler ends after its job"
like scheduler.err '^pserver: 2 workers and 1 servers, but' "the scheduler reports whom it refused"
kill $silent
like scheduler.err '^pserver: refused 127\.0\.0\.1:[0-9]+: holds the key of another job$' \
	"the scheduler reports the address of a worker with another key"
like scheduler.err '^pserver: refused 127\.0\.0\.1:[0-9]+: proved nothing before too many others came$' \
	"silent connections do not keep others out: the oldest are closed"
like scheduler.err '^pserver: refused [0-9]+ more connections$' "the scheduler counts refusals that it does not report"
DMLC_ROLE=scheduler pserver --key-file key 2>scheduler.err &
scheduler=$!
: >server.err	# so that until does not find the previous server's line
DMLC_ROLE=server pserver --key-file key 2>server.err &
server=$!
until grep -q 'listens at' server.err; do read -rt 0.05 <> <(:); done
status 2 "a second server of a rank is refused" env DMLC_ROLE=server DMLC_SERVER_ID=0 pserver --key-file key
like err 'the scheduler refuses: server 0 has already joined$' "the scheduler reports the rank that has joined"
kill $scheduler
wait $scheduler
is $? 143 "SIGTERM ends a scheduler"
kill $server
wait $server
is $? 143 "SIGTERM ends a server"
unset DMLC_ROLE
status 2 "pserver with only a key is refused" pserver --key-file key
like err '^pserver: --listen: is missing' "the error names --listen"
done_testing
