#!/usr/bin/env bash
# spare.t - a host that is lost is left out: spares or the other hosts take its place, and the job goes on from its last cut.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
. "$TOP/tests/flow/data.sh"

export OMP_NUM_THREADS=1
away() {
	really_living | xargs -r kill -9
	living | xargs -r kill -9
	# shellcheck disable=SC2046
	kill -9 $(cat "$T"/agent.* 2>/dev/null) 2>/dev/null
	rm -rf "$T"
}
trap away EXIT

# Stands for a remote shell to hosts that are all this machine: notes the agent's process and runs the agent.
cat >"$T/shell" <<'EOF'
#!/bin/bash
[ ! -e "${0%/*}/down.$1" ] || exit 255
echo $$ >"${0%/*}/agent.$1"
shift
exec "$@"
EOF
chmod +x "$T/shell"
agent() { cat "$T/agent.$1"; }
# dies HOST...: all its processes are killed at once; a host that is lost does not answer afterwards.
dies() {
	local h a shims all=()
	for h; do
		a=$(agent "$h")
		read -ra shims <"/proc/$a/task/$a/children"	# no line end
		all+=("$a" "${shims[@]}")
	done
	kill -9 "${all[@]}"
}
lose() { touch "$T/down.$1" && dies "$1"; }

# hosts NAME...: a hosts file, with room for $slots processes on each.
slots=2
hosts() { printf "%s slots=$slots addr=127.0.0.1\n" "$@" >"$T/hosts"; rm -f "$T"/agent.* "$T"/down.*; }
# start NAME OPTION... -- ARGUMENT...: a job of 2 workers and 2 servers in the background; $pid is dlaunch.
start() {
	local name=$1 options=()
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	: >"$T/err"
	dlaunch -H "$T/hosts" --rsh "$T/shell {host}" -n 2 -s 2 --restart 3 --env STAND --env TALLY_SHARE "${options[@]}" \
		pworker "$@" --seed 7 --save "$T/${save:-$name}" >"$T/$name.log" 2>"$T/err" & pid=$!
}
ends() {
	wait "$pid"
	local got=$?
	[ $got -eq "$1" ] || { echo "exit status $got, want $1"; tail -n 40 "$T/err"; return 1; }
}
# has_cut NAME: waits until the job has made a cut.
has_cut() {
	until ls "$T/$1".cut-*.manifest >"$T/.cuts" 2>/dev/null; do
		kill -0 "$pid" || return
		read -rt 0.02 <> <(:) || :
	done
}
goes_on() { # NAME
	like "$T/err" "^worker 0: pworker: resumes from .*/$1.cut-[0-9a-f]*-[0-9]*-[0-9]*\.safetensors$" "$1: the job goes on from a cut"
	ok "$1: its weights have the bits of the undisturbed job" cmp "$T"/whole-*.safetensors "$T/$1"-0*.safetensors
	ok "$1: no cut is left" test -z "$(find "$T" -name "$1.cut-*")"
	ok "$1: nothing is left" really_none_left
}

have mnist || { skip "lost hosts" "$WHY"; done_testing; }
set -- --net lenet --data "$MNIST_TEST" --scale 0.00390625 --lr 0.05 --batch 125 --epochs 1 --cut 2
hosts one two
start whole -- "$@"
ok "an undisturbed job ends well" ends 0

slots=1 hosts one two three four five
start spare -- "$@"
has_cut spare
ok "spare: no process runs on the spare host" test ! -e "$T/agent.five"
lose two
ok "spare: a job whose host is lost ends well" ends 0
like "$T/err" '^dlaunch: host two: went away' "spare: the lost host is named"
like "$T/err" '^dlaunch: host two: is left out from now on$' "spare: it is left out"
ok "spare: the spare host took its place" test -e "$T/agent.five"
goes_on spare

# The host of worker 0 and server 0; no spare, so that all run on the other host.
hosts one two
start other -- "$@"
has_cut other
lose one
rm -f "$T/agent.one"
ok "other: a job without a spare host goes on on the others" ends 0
like "$T/err" '^dlaunch: host one: is left out from now on$' "other: the lost host is left out"
ok "other: the agent of the lost host is not started again" test ! -e "$T/agent.one"
goes_on other

# A host that is silent, as after a cut cable.
hosts one two three
start silent --silence 1 -- "$@"
has_cut silent
# shellcheck disable=SC2046
kill -STOP "$(agent two)" $(real_process --server 1)	# without the server the job cannot end before
ok "silent: a job whose host is silent ends well" ends 0
like "$T/err" '^dlaunch: host two: silent for' "silent: the silent host is named"
goes_on silent

# A host that does not answer any more when the job is started again.
hosts one two three
start down -- "$@"
has_cut down
touch "$T/down.three"
lose two
ok "down: a job of whose spares none answers goes on on the first host" ends 0
like "$T/err" '^dlaunch: host three: is left out from now on$' "down: the spare that does not answer is left out too"
goes_on down

# All hosts are lost at once, as when this machine is cut off.
hosts one two three four five
start outage -- "$@"
has_cut outage
dies one two three four
ok "outage: a job whose hosts are all lost at once ends well" ends 0
is "$(grep -c 'is left out' "$T/err")" 0 "outage: none is left out"
ok "outage: the spare host does not take the place of all" test ! -e "$T/agent.five"
goes_on outage

if command -v rsync >"$T/.which"; then
	mkdir "$T/files"
	echo new >"$T/files/file"
	hosts one two three four five
	start sync --sync "$T/files:$T/copied" -- "$@"
	has_cut sync
	rm "$T/copied/file"
	touch "$T/down.five"
	lose two
	ok "sync: a job whose spare host gets no copy ends well" ends 0
	like "$T/err" '^dlaunch: --sync: host five: rsync: exit status' "sync: the host is named"
	like "$T/err" '^dlaunch: host five: is left out from now on$' "sync: it is left out"
	is "$(cat "$T/copied/file")" new "sync: the other hosts get a copy before they go on"
	goes_on sync
else
	skip "copies to spare hosts" "rsync is not installed"
fi

# Only one host: there is nothing else than to try it again.
hosts one
start only -- "$@"
has_cut only
dies one
ok "only: a job with one host is started there again" ends 0
ok "only: it is not left out" test "$(grep -c 'is left out' "$T/err")" -eq 0
goes_on only

# Hosts with disks of their own, of which one is lost with the host of worker 0.
if unshare -m true 2>"$T/.unshare"; then
	mkdir "$T/disk" "$T"/disk.{one,two,three,four,five,six}
	cat >"$T/shell" <<-'EOF'
		#!/bin/bash
		[ ! -e "${0%/*}/down.$1" ] || exit 255
		echo $$ >"${0%/*}/agent.$1"
		exec unshare -m sh -c 'mount --bind "$0.$1" "$0" && shift && exec "$@"' "${0%/*}/disk" "$@"
	EOF
	cuts_of() { (cd "$T/disk.$1" && ls ./*.cut-*.manifest 2>/dev/null); }
	common() { comm -12 <(cuts_of three) <(cuts_of four) | tail -n 1; }
	# own: the servers run on hosts one and two, worker 0 on three, and worker 1 on four; five and six are spares.
	own() {
		slots=1 hosts one two three four five six
		save=disk/own start own -- "$@" --cut-copies 1
	}
	own "$@"
	until [ -n "$(common)" ] || ! kill -0 "$pid"; do read -rt 0.02 <> <(:) || :; done
	# shellcheck disable=SC2046
	kill -STOP $(really_living)
	read -rt 0.1 <> <(:)
	cut=$(common) cut=${cut%.manifest}
	ok "own: the copy of a cut has the same bytes" cmp "$T/disk.three/$cut" "$T/disk.four/$cut"
	lose three
	# shellcheck disable=SC2046
	kill -CONT $(really_living)
	ok "own: a job whose worker 0 is lost with its disk ends well" ends 0
	like "$T/err" '^worker 1: pworker: resumes from .*/own.cut-[0-9a-f]*-[0-9]*-[0-9]*\.safetensors$' "own: it goes on from the copy"
	ok "own: its weights have the bits of the undisturbed job" cmp "$T"/whole-*.safetensors "$T"/disk.five/own-0*.safetensors
	is "$(cuts_of four; cuts_of five)" "" "own: no cut is left on the other disks"

	# The hosts of both servers are lost: the workers stay where the cuts are.
	rm -f "$T"/disk.*/*
	own "$@"
	until [ -n "$(cuts_of three)" ] || ! kill -0 "$pid"; do read -rt 0.02 <> <(:) || :; done
	touch "$T/down.one" "$T/down.two"
	dies one two
	ok "own: a job that loses the hosts of both servers ends well" ends 0
	like "$T/err" '^worker 0: pworker: resumes from .*/own.cut-[0-9a-f]*-[0-9]*-[0-9]*\.safetensors$' \
		"own: worker 0 goes on from its cut"
	ok "own: its weights have the bits of the undisturbed job" cmp "$T"/whole-*.safetensors "$T"/disk.three/own-0*.safetensors

	# Worker 1 alone has cuts.
	rm -f "$T"/disk.*/*
	own "$@"
	until [ -n "$(cuts_of four)" ] || ! kill -0 "$pid"; do read -rt 0.02 <> <(:) || :; done
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	really_none_left
	rm -f "$T"/disk.three/*
	own "$@" --resume-last
	ok "own: a job of which worker 1 alone has a cut ends well" ends 0
	like "$T/err" '^worker 1: pworker: resumes from .*/own.cut-[0-9a-f]*-[0-9]*-[0-9]*\.safetensors$' "own: worker 1 starts it"
	ok "own: its weights, too, have the bits of the undisturbed job" \
		cmp "$T"/whole-*.safetensors "$T"/disk.three/own-0*.safetensors
	is "$(cuts_of three; cuts_of four)" "" "own: no cut is left"
else
	skip "hosts with disks of their own" "$(cat "$T/.unshare")"
fi

# Each attempt has a key of its own, so that nobody of an earlier one can take part.
hosts one two
mkdir "$T/dies"
cat >"$T/dies/pworker" <<'EOF'
#!/bin/bash
while [ "$1" != --key-file ]; do shift; done
read -r key <"$2"
echo "$key" >>"$STAND/keys"
exit 75
EOF
chmod +x "$T/dies/pworker"
status 75 "a job whose workers lose their peers is started again" dlaunch -H "$T/hosts" --rsh "$T/shell {host}" -n 1 -s 1 \
	--restart 1 --env STAND --server-command "$T/bin/pserver" "$T/dies/pworker" --save x
is "$(sort -u "$STAND/keys" | wc -l)" 2 "each attempt has another key"
done_testing
