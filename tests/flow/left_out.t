# left_out.t - the count of records left out in an epoch is right after a worker was killed within it.
. "$TOP/tests/tap.sh"

export OMP_NUM_THREADS=1
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$T"' EXIT
cd "$T" || exit 1
(umask 077; head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >key)
# Three quarters of the records have no class.
mkdir images
for i in $(seq 0 199); do
	{ printf 'P5 28 28 255\n'; head -c 784 /dev/zero | tr '\0' "\\$(printf %o $((i + 40)))"; } >"images/$i.pgm"
	printf '%d\t%d\t%d.pgm\n' "$i" $((i % 8 < 2 ? i % 2 : -1)) "$i"
done >all.lst
im2rec -q all.lst images -o all.rec || exit 1

work() {
	pworker --net mlp --classes 2 --data all.rec --batch 2 --epochs 20 --servers "$at" --worker "$1/2" --key-file key \
		--state "work$1" >"$2" 2>>"$3"
}
start() {
	rm -f at
	pserver --listen 127.0.0.1:0 --workers 2 --key-file key --ready-fd 3 3>at >server.log 2>server.err & server=$!
	until [ -s at ]; do read -rt 0.05 <> <(:); done
	at=$(cat at)
}
count() { grep 'training of epoch' "$1"; }

start
work 0 /dev/null whole.err & work 1 /dev/null other.err
wait $!
wait $server
is "$(count whole.err | wc -l)" 20 "a worker counts the records that it leaves out, a line for each epoch"

# Worker 1 stops when its log, which nobody reads, fills the pipe.  Worker 0 is killed while it waits.
start
mkfifo pipe
exec 5<>pipe
work 1 pipe other.err & one=$!
{ echo "$BASHPID" >pid; exec pworker --net mlp --classes 2 --data all.rec --batch 2 --epochs 20 --servers "$at" --worker 0/2 \
	--key-file key --state work0 >/dev/null 2>cut.err; } & zero=$!
until grep -q 'waiting for worker 1' cut.err; do
	kill -0 $zero || break
	read -rt 0.05 <> <(:)
done
kill -9 "$(cat pid)"
wait $zero 2>/dev/null
is $? 137 "worker 0 is killed within an epoch"
cat pipe >/dev/null & drain=$!
work 0 /dev/null cut.err
wait $one
wait $server
kill $drain
is "$(count cut.err)" "$(count whole.err)" "the worker that takes its place counts the same"
done_testing
