#!/usr/bin/env bash
# descriptors.t - tools started with closed standard descriptors: no file that they open gets these numbers.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$T"' EXIT
mkfifo quiet held

# Runs a command without some of descriptors 0, 1 and 2: "2", "0 1 2".
closed() { # DESCRIPTORS COMMAND...
	(for fd in $1; do exec {fd}>&-; done; shift; exec timeout 60 "$@")
}

mkdir -p images/a
echo "not a photograph" >images/a/1.jpg
base64 -d >images/a/2.png <<-'B64'
	iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAC0lEQVR4nGNwOAAAAUMBAQURd3wAAAAASUVORK5CYII=
B64
im2rec -o want.rec images 2>err
like err '^im2rec: images/a/1\.jpg: ' "an image that cannot be decoded is named"
for fds in 0 1 2 "0 2" "1 2" "0 1 2"; do
	closed "$fds" im2rec -o got.rec images >out 2>err
	is "$? $(cksum <got.rec)" "1 $(cksum <want.rec)" "im2rec -o without descriptors $fds writes nothing but records"
done
closed 1 im2rec images 2>err
is "$? $(grep -c '^im2rec: .*Bad file descriptor$' err)" "1 1" "im2rec fails to write to a closed standard output"
closed 0 im2rec - images >out 2>err
is "$? $(grep -c '^im2rec: .*Bad file descriptor$' err)" "1 1" "im2rec fails to read a closed standard input"

# The descriptors of a tool that waits for a pipe that nobody opens.
holds() { # NAME COMMAND...
	holds_name=$1 holds_got=
	shift
	(exec <&- >&- 2>&-; exec "$@") &
	holds_pid=$!
	for _ in $(seq 600); do
		holds_got=$(for fd in 0 1 2; do
			echo "$(readlink /proc/$holds_pid/fd/$fd) $(sed -n 's/^flags:.*\(.\)$/\1/p' /proc/$holds_pid/fdinfo/$fd)"
		done 2>/dev/null | paste -sd,)
		[ "$holds_got" != "/dev/null 1,/dev/null 0,/dev/null 0" ] || break
		kill -0 $holds_pid 2>/dev/null || break
		read -rt 0.05 <>quiet
	done
	is "$holds_got" "/dev/null 1,/dev/null 0,/dev/null 0" "$holds_name opens all three, each in the wrong direction"
	{ kill -9 $holds_pid; wait $holds_pid; } 2>/dev/null
}
(umask 077; echo 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f >key)
holds im2rec im2rec -o got.rec held images
holds pserver pserver --listen 127.0.0.1:0 --workers 1 --key-file key
holds pworker pworker --net mlp --data held --key-file held --servers 127.0.0.1:1
holds pmerge pmerge -o got.safetensors held
holds dlaunch dlaunch -H held -- true
holds netstat-logging netstat-logging -i lo -o got.tsv
holds plog plog held

# Processes of a job have descriptors of their own, whatever dlaunch has.
cat >shows <<'EOF'
#!/bin/sh
cat && echo said && echo told >&2
EOF
chmod +x shows
for fds in 0 2 "0 2"; do
	is "$(closed "$fds" dlaunch -n 2 -s 0 -- ./shows 2>/dev/null | sort | paste -sd,)" said,said \
		"dlaunch without descriptors $fds prints its processes' output"
done
closed 1 dlaunch -n 2 -s 0 -- ./shows 2>err
is $? 1 "dlaunch fails if it cannot print its processes' output"
like err '^dlaunch: standard output: write: Bad file descriptor; stopping the workers$' \
	"the error names the standard output"
done_testing
