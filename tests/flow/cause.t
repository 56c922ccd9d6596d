# cause.t - the first line about a failed job is its cause, also if the consequences are known earlier.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
trap 'really_living | xargs -r kill -9; rm -rf "$T"' EXIT
cd "$T" || exit 1
export OMP_NUM_THREADS=1 TALLY_SHARE=${TALLY_SHARE:-$TOP/share}

perl -e 'srand 1; for $i (0..99) { print chr($i % 10); print chr(int rand 256) for 1..3072 }' >data_batch_1.bin
im2rec -q data_batch_1.bin -o small.rec || exit 1

# A remote shell to hosts a and b.  What a sends is in a file too.  While another file is there, nothing of b arrives.
cat >far <<'EOF'
#!/bin/bash
host=$1; shift
[ "$host" = b ] || { "$@" | tee sent; exit; }
"$@" | perl -e 'while (sysread STDIN, $x, 65536) {
	select undef, undef, undef, 0.02 while -e "stall";
	while ($x ne "") { $n = syswrite STDOUT, $x or exit 1; substr $x, 0, $n, "" } }'
EOF
chmod +x far
printf 'a addr=127.0.0.1\nb addr=127.0.0.1\n' >hosts

# start OPTION...: a job, $mode or synchronous, with server 0 and worker 1 on host a and worker 0 on host b; $pid is dlaunch.
start() {
	rm -f stall
	: >out
	dlaunch -H hosts --rsh "$T/far {host}" -n 2 -s 1 --respawn 0 --grace 60 --env STAND --env TALLY_SHARE "$@" \
		pworker --net mlp --shape 3x32x32 --data small.rec --batch 10 --epochs 100000 --frequent 1 $mode >out 2>err & pid=$!
	line_of out '	step	' 4 "$pid"
}
# The processes by what only their command lines have.
process() {
	local p
	for p in $(really_living); do
		tr '\0' ' ' <"/proc/$p/cmdline" | grep -q -- "$1" && echo "$p"
	done
}
# fails: the worker on b is killed, and the news of it comes after the server's line and, if synchronous, the others' end.
fails() {
	local others
	others="$(process '--server 0/1') $(process '--worker 1/2')"
	touch stall && kill -9 "$(process '--worker 0/2')" && line_of sent 'worker 0 is lost' 1 "$pid" || return 1
	# shellcheck disable=SC2086
	[ -n "$mode" ] || while kill -0 $others; do read -rt 0.02 <> <(:); done 2>/dev/null
	rm stall
	wait "$pid"
	[ $? = 137 ]
}

for wait in '' '--on-fail wait' '--async'; do
	mode=
	[ "$wait" != --async ] || mode=$wait
	# shellcheck disable=SC2086
	ok "a job runs on two hosts ($wait)" start ${wait#"$mode"}
	ok "the status of the job is that of the killed worker ($wait)" fails
	is "$(grep -v ': Epoch\[\|: pserver: \(listens\|holds\|[0-9]* steps,\)' err | sed 's/: ending the others//; q')" \
		"dlaunch: worker 0 on b: signal 9 (Killed)" "the cause is the first line ($wait)"
	like err '^server 0: pserver: .*worker 0' "the server reports the consequence ($wait)"
	is "$(tr -d '\n' <err | tr -d '[:print:]\t' | wc -c)" 0 "no line has a mark ($wait)"
done
done_testing
