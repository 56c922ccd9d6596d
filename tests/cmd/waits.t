#!/usr/bin/env bash
# waits.t - a tool that waits for a pipe says for which, once, and a signal ends it at once.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1 XDG_STATE_HOME=$T/state

mkdir -p images/a images/b
for i in 1 2 3 4; do
	for class in a b; do
		perl -e 'srand $ARGV[0]; print "P5 28 28 255\n"; print chr(int rand 256) for 1..784' $i >images/$class/$i.pgm
	done
done
im2rec -q -o train.rec images || exit 1
net="pworker --net mlp --widths 4 --shape 3x28x28 --classes 2 --batch 4 --epochs 1"
$net --data train.rec --save w >log.tsv 2>err || exit 1

# Pipes that are open for writing, and get nothing; and named pipes that nobody else opens.
mkfifo held half quiet none.in none.log none.tsv none.w
exec 7<>held 8<>half
names=() lines=() pids=()
begin() { # NAME LINE COMMAND: the command reads the held pipe
	perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' sh -c "exec $3" <"${4:-held}" >"$1.out" 2>"$1.err" &
	pids+=($!) names+=("$1") lines+=("$2")
}
begin "pworker --data -" "pworker: waiting for standard input" "$net --data -"
begin "pworker --data of a named pipe" "pworker: waiting for none.in" "$net --data none.in"
begin "pworker --eval --data -" "pworker: waiting for standard input" "pworker --eval w-0001.safetensors --data -"
begin "pworker --predict" "pworker: waiting for standard input" "pworker --predict w-0001.safetensors -"
begin "pworker --eval -" "pworker: waiting for standard input" "pworker --eval - --data train.rec"
begin "pworker --log" "pworker: waiting for a reader of none.log" "$net --data train.rec --log none.log"
begin "pworker --start" "pworker: waiting for none.w" "$net --data train.rec --start none.w"
begin "im2rec -" "im2rec: waiting for standard input" "im2rec -o x.rec - images"
begin "im2rec --list -" "im2rec: waiting for standard input" "im2rec --list -"
begin "pmerge -" "pmerge: waiting for standard input" "pmerge -o x.safetensors -"
begin "pmerge of a named pipe" "pmerge: waiting for none.w" "pmerge --list none.w"
begin "pserver --key-file -" "pserver: waiting for standard input" "pserver --listen 127.0.0.1:0 --workers 1 --key-file -"
begin "dlaunch -H -" "dlaunch: waiting for standard input" "dlaunch -H - -n 1 true"
begin "netstat-logging -o" "netstat-logging: waiting for a reader of none.tsv" "netstat-logging -i lo -d 0.1 -o none.tsv"
# A port at which nobody listens, which stays taken.
mkfifo port
perl -MIO::Socket -e '$| = 1; $s = IO::Socket::INET->new(LocalAddr => "127.0.0.1", Proto => "tcp", Type => SOCK_STREAM) or die;
	print $s->sockport, "\n"; <STDIN>' <held >port &
holder=$!
read -r port <port
job="env DMLC_NUM_WORKER=1 DMLC_NUM_SERVER=1 DMLC_PS_ROOT_URI=127.0.0.1 DMLC_PS_ROOT_PORT=$port"
begin "pworker without a scheduler" "pworker: waiting for the scheduler at 127.0.0.1:$port" \
	"$job DMLC_ROLE=worker $net --data train.rec --plain"
begin "pserver without a scheduler" "pserver: waiting for the scheduler at 127.0.0.1:$port" "$job DMLC_ROLE=server pserver --plain"
free=$(perl -MIO::Socket -e 'print IO::Socket::INET->new(LocalAddr => "127.0.0.1", Proto => "tcp", Type => SOCK_STREAM)->sockport')
$job DMLC_PS_ROOT_PORT="$free" DMLC_ROLE=scheduler pserver --plain 2>scheduler.err &
scheduler=$!
# The rest of a stream that has begun: two steps are done, and the weights are saved.
cat train.rec >&8
begin "pworker --data - within a stream" "pworker: waiting for standard input" \
	"$net --data - --frequent 100 --shuffle-buffer 1 --save half" half
# Follows pipes by design.
plog -f - <held >plog.out 2>plog.err &
plog=$!

SECONDS=0
for i in "${!names[@]}"; do
	until grep -q "waiting for" "${names[i]}.err" || [ $SECONDS -gt 100 ]; do
		kill -0 "${pids[i]}" || break
		read -rt 0.05 <>quiet
	done
done
for i in "${!names[@]}"; do
	kill -INT "${pids[i]}"
done
for i in "${!names[@]}"; do
	wait "${pids[i]}"
	is "$?" 130 "SIGINT ends ${names[i]}"
	is "$(grep 'waiting for' "${names[i]}.err")" "${lines[i]}" "${names[i]} says once for what it waits"
done
until grep -q "waiting for" scheduler.err || ! kill -0 $scheduler; do read -rt 0.05 <>quiet; done
kill $scheduler
wait $scheduler
is "$(grep 'waiting for' scheduler.err | sort -u)" "pserver: waiting for server 0 to join" "a scheduler says which process is missing"
is "$(ls half-*.safetensors)" "half-0000-000002.safetensors" "a stream that is interrupted leaves a checkpoint"
kill $plog $holder
wait $plog
is "$(cat plog.err)" "" "plog -f says nothing"

# Within a stream im2rec handles signals itself.  Waits until it does, by the mask of /proc: SIGTERM is bit 14.
until_handles() {
	SECONDS=0
	until [ $SECONDS -gt 20 ] || { grep -q '^im2rec' "/proc/$1/comm" &&
		grep -Eq '^SigCgt:.*[4-7c-f][0-9a-f]{3}$' "/proc/$1/status"; }; do read -rt 0.05 <>quiet; done
}
mkfifo rest
exec 9<>rest
mkdir -p large/a large/b
for i in 1 2 3 4 5 6 7 8 9; do
	perl -e 'srand $ARGV[0]; print "P5 200 200 255\n"; print chr(int rand 256) for 1..40000' $i >large/a/$i.pgm
done
tar cf large.tar large
printf 'a\nb\n' >labels
for input in - /dev/stdin rest; do
	for verb in --verify "--extract -o x" --to-tar "--to-tar -o x.tar" "--labels labels -o y.rec"; do
		# shellcheck disable=SC2086
		im2rec $verb $input <rest >out 2>err &
		case $verb in *labels*) head -c 140000 large.tar ;; *) head -c 3000 train.rec ;; esac >&9
		until_handles $!
		kill $!
		while kill -0 $! 2>/dev/null && [ $SECONDS -le 20 ]; do read -rt 0.05 <>quiet; done
		kill -9 $! 2>/dev/null
		wait $!
		is "$? $(cat err)" "143 " "SIGTERM ends im2rec $verb $input within a stream"
		dd if=rest iflag=nonblock of=/dev/null 2>/dev/null
		rm -rf x
	done
done
# The signal ends the wait for the classes; the pipe of records is opened after it.
mkfifo late late.labels
exec 6<>late 8<>late.labels
head -c 3000 train.rec >&6
im2rec --extract -o x late >out 2>err &
until_handles $!
kill $!
wait $!
is "$? $(cat err)" "143 " "SIGTERM ends im2rec that opens a pipe after it"
exec 6<&- 8<&-
is "$(ls -d x.* y.* 2>/dev/null | tr '\n' ' ')" "" \
	"im2rec leaves no unfinished file after a signal within a stream"
# Nobody reads the records.
mkfifo full
exec 8<>full
im2rec --labels labels - <large.tar >full 2>full.err & written=$!
until_handles $written
kill $written
wait $written
is "$? $(cat full.err)" "143 " "SIGTERM ends im2rec that waits for a reader of its records"
exec 8<&-
head -c 3000 train.rec >&9
(trap '' HUP; exec im2rec --verify - <rest >out 2>err 9>&-) &
until_handles $!
kill -HUP $!
tail -c +3001 train.rec >&9
exec 9>&-
wait $!
is "$? $(cat out)" "0 -: 8 records, 0 bad, no index, no sums" "a SIGHUP that is ignored, as by nohup, does not end im2rec"

# On a terminal.
: >shown
perl "$TOP/tests/cmd/pty.pl" 80 24 sh -c "echo \$\$ >pid; exec $net --data - <held" >shown &
SECONDS=0
until grep -q "waiting for" shown || [ $SECONDS -gt 100 ]; do kill -0 $! || break; read -rt 0.05 <>quiet; done
kill "$(cat pid)"
wait $!
like shown '^pworker: waiting for standard input' "pworker says it on a terminal"
done_testing
