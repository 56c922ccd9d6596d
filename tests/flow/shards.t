#!/usr/bin/env bash
# shards.t - workers without servers (-s 0) hold the shards of the weights themselves, with the bits of as many servers.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
. "$TOP/tests/netns.sh"
export OMP_NUM_THREADS=1 PATH=$BUILD/share/demo:$PATH XDG_STATE_HOME=$T/state
trap 'really_living | xargs -r kill -9; netns_away; rm -rf "$T"' EXIT
cd "$T" || exit 1
pictures train 320 1 >out 2>&1 && im2rec train >train.rec 2>err || { cat out err; tap 1 "the records are packed"; done_testing; }
train="--net lenet --data $T/train.rec --scale 0.00390625 --lr 0.05 --seed 7"
same_bits() { # NAME NAME: all files of the first are those of the second
	local f n=0
	for f in "$1"-*.safetensors; do cmp "$f" "$2${f#"$1"}" && n=$((n + 1)) || return 1; done
	[ $n -gt 0 ]
}

# Shapes and modes: $1 workers with these options compute what they do with as many servers.
bits() { # NAME WORKERS ARGUMENT...
	local name=$1 n=$2
	shift 2
	# shellcheck disable=SC2086
	for s in 0 "$n"; do
		rm -f "$s"-*.safetensors
		dlaunch -n "$n" -s "$s" --server-command "pserver ${plain-}" pworker $train --batch 16 --epochs 2 --save "$s" \
			${plain-} "$@" >"$s.log" 2>"$s.err" || { ok "$name: -s $s exits with 0" false; cat "$s.err"; return; }
	done
	ok "$name: the weights have the bits of a job with servers" same_bits 0 "$n"
}
bits "two workers" 2
is "$(awk -F '\t' '$1 == "time_s" { for (i = 1; i <= NF; i++) at[$i] = i; next }
	$at["event"] == "end" { print $at["role"], $at["rank"] }' 0.log | sort | paste -sd,)" \
	"server 0,server 1,worker 0,worker 1" "a shard's rows are those of the server of its rank"
is "$(sed -n 's/^worker \(.\): pworker: shard \(.\): holds .* for 2 workers$/\1 \2/p' 0.err | sort | paste -sd,)" "0 0,1 1" \
	"each worker holds a shard"
bits "three workers" 3
bits "four workers, accumulation" 4 --accumulate 2
bits "two devices, clipping over all shards" 2 --devices cpu:0,cpu:1 --clip-norm 1
bits "a codec" 2 --codec topk:0.1
plain=--plain TALLY_TRANSPORT=tcp bits "TCP without a key" 2
for mode in --async "--slack 2"; do
	# shellcheck disable=SC2086
	status 0 "$mode: a job of three workers ends well" dlaunch -n 3 -s 0 pworker $train --batch 16 --epochs 2 $mode
done

# start NAME OPTION... -- ARGUMENT...: a job in the background; $pid is dlaunch.
start() {
	local name=$1 options=()
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	: >err
	# shellcheck disable=SC2086
	dlaunch -n 2 -s 0 --env STAND --env TALLY_SHARE "${options[@]}" pworker $train --batch 4 --frequent 10 --save "$name" "$@" \
		>log 2>err & pid=$!
}
ends() { # STATUS
	wait "$pid"
	local got=$?
	[ $got -eq "$1" ] || { echo "exit status $got, want $1"; tail -n 40 err; return 1; }
}
start whole -- --epochs 6 --codec '*weight=topk:0.1'
ok "an undisturbed job ends well" ends 0
start cut -- --epochs 6 --codec '*weight=topk:0.1'
agent=$(ps -o pid= --ppid $pid)
for n in 1 2 3; do
	line_of err 'Speed' $((3 * n)) $pid
	case $n in
	1) kill -9 "$(real_process --worker 0)" ;;
	2) kill -9 "$(real_process --worker 1)" $agent ;;
	# shellcheck disable=SC2046
	3) kill -9 $(really_living) ;;
	esac
done
ok "a job whose workers and agent are killed, one and all at once, ends well" ends 0
is "$(grep -c 'signal 9 ended this worker; it was started again' err)" 4 "dlaunch reports each killed worker"
ok "all weights have the bits of the undisturbed job" same_bits whole cut
ok "nothing is left" really_none_left

start end --respawn 0 -- --epochs 10000
line_of err 'Speed' 2 $pid
kill -9 "$(real_process --worker 1)"
ok "--respawn 0: a killed worker ends the job with its status" ends 137
like err '^dlaunch: worker 1 on localhost: signal 9 \(Killed\): ending the others$' "--respawn 0: dlaunch says why"
ok "--respawn 0: nothing is left" really_none_left
# The other worker is asked to stop while it waits for a shard that does not return.
start often --respawn 1 --grace 20 -- --epochs 10000
line_of err 'Speed' 2 $pid
kill -9 "$(real_process --worker 1)"
line_of err '^worker 1: pworker: was started again' 1 $pid
line_of err '^worker 1: .*Speed' 2 $pid
kill -9 "$(real_process --worker 1)"
ok "--respawn 1: a second death of a worker ends the job" ends 137
like err '^worker 0: pworker: server 1 (.*) is lost and did not return$' "--respawn 1: the other worker does not wait until it is killed"
start async -- --epochs 10000 --async
for w in 1 0; do
	line_of err '^worker 0: .*Speed' $((2 - w)) $pid && line_of err '^worker 1: .*Speed' $((2 - w)) $pid
	kill -9 "$(real_process --worker $w)"
	ok "--async: worker $w returns with its shard" line_of err "^worker $w: pworker: was started again; goes on at step" 1
done
kill -TERM $pid
ok "--async: a job whose workers were killed stops in order" ends 143
ok "--async: nothing is left" really_none_left
# A worker that is killed once, after all others have ended.
mkdir last
cat >last/pworker <<'END'
#!/bin/bash
case "$*" in
*"--worker 1/2 "*)
	"$BUILD/pworker" "$@" || exit
	mkdir "$STAND/killed" 2>/dev/null || exit 0
	while pgrep -f -- "--save $STAND/last.*--worker 0/2 " >/dev/null; do read -rt 0.05 <> <(:); done
	kill -9 $$ ;;
esac
exec "$BUILD/pworker" "$@"
END
chmod +x last/pworker
for s in 0 2; do
	rm -rf "$STAND/killed"
	# shellcheck disable=SC2086
	status 0 "-s $s: a job whose worker is killed after the end of the others ends well" dlaunch -n 2 -s $s --env STAND \
		--env BUILD --env TALLY_SHARE ./last/pworker $train --batch 16 --epochs 1 --save "$STAND/last"
	like err 'signal 9 ended this worker; it was started again' "-s $s: the worker was started again"
done
start stopped -- --epochs 10000
line_of err 'Speed' 2 $pid
kill -TERM $pid
ok "SIGTERM ends the job in order" ends 143
like err '^worker 0: Saved checkpoint to "stopped-' "worker 0 saves what it has"

status 0 "a detached job runs" dlaunch --detach --job shards -n 2 -s 0 pworker $train --batch 16 --epochs 2 --save away
status 0 "dlaunch wait waits for it" dlaunch wait shards
dlaunch -n 2 -s 2 pworker $train --batch 16 --epochs 2 --save here >log 2>err
ok "a detached job has the bits of a job with servers" same_bits away here

# Two hosts, and a remote shell that enters them.
if netns_make alpha beta; then
	printf '#!/bin/bash\nh=%s$1\nshift\nexec ip netns exec "$h" "$@"\n' "$(netns_of '')" >enter
	chmod +x enter
	printf '%s addr=10.93.0.%s\n' alpha 2 beta 3 >hosts
	# shellcheck disable=SC2086
	status 0 "two workers on two hosts exit with 0" netns_in switch dlaunch -H hosts --rsh "$T/enter {host}" -n 2 -s 0 \
		--env TALLY_SHARE pworker $train --batch 16 --epochs 2 --save hosts
	like err '^worker 1: pworker: shard 1: listens at 10\.93\.0\.3:[0-9]+ as server 1 of 2$' "a shard listens at its host's address"
	ok "workers on two hosts have the bits of a job with servers" same_bits hosts here

	head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >key
	chmod 600 key
	# hand HOST RANK ARGUMENT...: a worker without dlaunch
	hand() {
		local host=$1 rank=$2
		shift 2
		# shellcheck disable=SC2086
		netns_in "$host" pworker $train --batch 16 --epochs 2 --servers 10.93.0.2:7000,10.93.0.3:7000 --worker "$rank/2" \
			--key-file key --shard "$@" >"hand.$rank.log" 2>"hand.$rank.err"
	}
	hand beta 1 & pid=$!
	status 0 "a worker by hand exits with 0" hand alpha 0 --save hand
	ok "the other worker by hand exits with 0" wait $pid
	ok "workers by hand have the bits of a job with servers" same_bits hand here
else
	skip "two hosts" "no network namespaces: $(tail -n 1 netns)"
fi

done_testing
