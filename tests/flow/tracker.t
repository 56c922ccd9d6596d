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

status 0 "what dlaunch starts" dlaunch -n 2 -s 2 $net --save want
TASK=yes track 2 2 $net --save ranks --key-file key
is "$statuses" "$well" "a tracker that gives ranks: all end well, the scheduler too"
ok "... and the bytes are those of dlaunch" cmp want-0002.safetensors ranks-0002.safetensors
like worker.1.err '^pworker: is worker 1 of 2, servers 127\.0\.0\.1:[0-9]+,127\.0\.0\.1:[0-9]+$' "... with the ranks that it gave"
NODE=localhost track 2 2 $net --save none --key-file key
is "$statuses" "$well" "a tracker that gives none"
ok "... and the bytes are the same" cmp want-0002.safetensors none-0002.safetensors
is "$(cat worker.?.err | grep -c '^pworker: is worker [01] of 2, servers localhost:[0-9]*,localhost:[0-9]*$')" 2 \
	"... each has a rank of its own, and the address of DMLC_NODE_HOST"
track 2 2 $net --save plain --plain
is "$statuses" "$well" "--plain: without a key"
ok "... and the bytes are the same" cmp want-0002.safetensors plain-0002.safetensors
status 0 "under dlaunch, which sets the same" dlaunch -n 2 -s 2 -- sh -c "exec $net --save under --key-file key"
ok "... and the bytes are the same" cmp want-0002.safetensors under-0002.safetensors
status 0 "batches of their own" dlaunch -n 2 -s 1 -- sh -c "exec $net --batch 4:12 --save uneven --plain"

# Who does not belong.
export DMLC_ROLE=worker DMLC_PS_ROOT_URI=127.0.0.1 DMLC_NUM_WORKER=1 DMLC_NUM_SERVER=1
DMLC_PS_ROOT_PORT=$(free_port)
export DMLC_PS_ROOT_PORT
status 2 "without a key or --plain" $net
like err '^pworker: DMLC_ROLE: needs --key-file, or --plain: then anybody may take part$' "... is refused"
DMLC_ROLE=scheduler pserver --key-file key 2>scheduler.err &
scheduler=$!
status 1 "a worker with another key" $net --key-file other
like err "^pworker: scheduler 127\.0\.0\.1:$DMLC_PS_ROOT_PORT: " "... is refused"
status 2 "a worker of another job" env DMLC_NUM_WORKER=2 $net --key-file key
like err 'the scheduler refuses: 2 workers and 1 servers there, 1 and 1 here$' "... is refused, and told why"
status 2 "a rank beyond the job" env DMLC_TASK_ID=1 $net --key-file key
like err '^pworker: DMLC_TASK_ID: 1 is not in 0\.\.0$' "... is named"
status 2 "a role that is none" env DMLC_ROLE=manager $net --key-file key
status 2 "a number that is none" env DMLC_NUM_WORKER=x $net --key-file key
like err '^pworker: DMLC_NUM_WORKER: ' "... is named"
status 2 "no place to meet" env -u DMLC_PS_ROOT_URI $net --key-file key
DMLC_ROLE=server pserver --key-file key 2>server.err &
server=$!
status 0 "who belongs" $net --key-file key --epochs 1
wait $server
is $? 0 "... is served"
wait $scheduler
is $? 0 "... and the scheduler ends"
like scheduler.err '^pserver: 2 workers and 1 servers there' "... having said who was refused"
DMLC_ROLE=scheduler pserver --key-file key 2>scheduler.err &
scheduler=$!
: >server.err	# what the one before said is not to be taken for this one's
DMLC_ROLE=server pserver --key-file key 2>server.err &
server=$!
until grep -q 'listens at' server.err; do read -rt 0.05 <> <(:); done
status 2 "a second server of a rank" env DMLC_ROLE=server DMLC_SERVER_ID=0 pserver --key-file key
like err 'the scheduler refuses: server 0 is here already$' "... is refused"
kill $scheduler
wait $scheduler
is $? 143 "SIGTERM ends a scheduler"
kill $server
wait $server
is $? 143 "... and a server"
unset DMLC_ROLE
status 2 "pserver with a key alone" pserver --key-file key
like err '^usage: pserver' "... is told its usage"
done_testing
