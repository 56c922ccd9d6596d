# dlaunch.t - streams, placement, exit statuses and messages of jobs on this machine.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"

# The way it should go.
status 0 "two workers, two servers" job -n 2 -s 2 -- hello
is "$(sort "$T/out")" "worker 0 of 2, servers 127.0.0.1:1000,127.0.0.1:1001
worker 1 of 2, servers 127.0.0.1:1000,127.0.0.1:1001" "workers know their rank and the servers, in order; output comes as it is"
is "$(sort "$T/err")" "server 0: listening
server 1: listening
worker 0: well
worker 1: well" "errors come behind the process's name, and nothing else does"
is "$(cat "$STAND"/key.* | sort -u | wc -l)" 1 "all have the same key"
is "$(find "$STAND" -name 'key.*' | wc -l)" 4 "... all four"
cp "$STAND/key.server0" "$T/key"
job -n 1 -- hello >"$T/out" 2>&1
ok "the next job has another" test "$(cat "$T/key")" != "$(cat "$STAND/key.server0")"
status 0 "one worker without servers" job -n 1 -s 0 -- hello
is "$(cat "$T/out")" "worker  of , servers " "... gets no words about any"
status 0 "a table when asked" job -v -n 2 -s 1 -- hello
is "$(grep -cE '^(server +0|worker +[01]) +localhost +[0-9]+ +[0-9.]+  exit status 0$' "$T/err")" 3 "... with a line a process"

# Environment.
is "$(job -n 4 -s 1 -- env OMP_NUM_THREADS 2>/dev/null | sort -u)" \
	"$(n=$(($(nproc) / 4)); echo $((n > 0 ? n : 1)))" "a worker's threads are its part of the processors"
is "$(OMP_NUM_THREADS=7 job -n 1 -- env OMP_NUM_THREADS 2>/dev/null)" 7 "... unless the user says"
is "$(job -n 1 -- env OMP_WAIT_POLICY 2>/dev/null)" passive "threads wait without spinning"
is "$(FOO='a b' job --env FOO -n 1 -- env FOO 2>/dev/null)" "a b" "--env NAME"
is "$(job --env FOO='c=d' -n 1 -- env FOO 2>/dev/null)" "c=d" "--env NAME=VALUE"
is "$(job -n 1 -- env PATH 2>/dev/null | cut -d: -f1)" "$BUILD" "PATH begins with dlaunch's own directory"
is "$(cd "$T/bin" && dlaunch -s 0 -- pwd)" "$T/bin" "processes run where dlaunch does"
is "$(dlaunch -s 0 -- cat </etc/passwd)" "" "... with no input"
is "$(dlaunch -s 0 -- sh -c 'printf "no newline"; printf "none" >&2' 2>"$T/err")" "no newline" "a last line without its newline comes"
is "$(cat "$T/err")" "worker 0: none" "... on both streams"

# Programs made for dmlc's trackers.
dlaunch -n 2 -s 2 -- sh -c 'echo "$DMLC_ROLE $DMLC_RANK/$DMLC_TASK_ID $DMLC_NUM_WORKER $DMLC_NUM_SERVER" \
	"${DMLC_WORKER_ID-none} ${DMLC_SERVER_ID-none} $DMLC_NODE_HOST"
	echo "$DMLC_PS_ROOT_URI:$DMLC_PS_ROOT_PORT" >&2' >"$T/out" 2>"$T/err"
is "$(sort "$T/out")" "scheduler 0/0 2 2 none none 127.0.0.1
server 0/0 2 2 none 0 127.0.0.1
server 1/1 2 2 none 1 127.0.0.1
worker 0/0 2 2 0 none 127.0.0.1
worker 1/1 2 2 1 none 127.0.0.1" "other commands run in all roles, told apart by DMLC_ROLE"
is "$(sed 's/.*: //' "$T/err" | sort | uniq -c | sed 's/  *//; s/[0-9]*$//')" "5 127.0.0.1:" "all know one scheduler"
is "$(dlaunch -n 2 -s 0 -- sh -c 'echo $DMLC_ROLE ${DMLC_PS_ROOT_URI-none}' | sort -u)" "worker none" "without servers there is none"

# Placement.
printf 'a\n\n# no host\nb\nc\n' >"$T/hosts"
is "$(dlaunch -P -n 2 -s 2 -H "$T/hosts" pworker)" "role	rank	host
server	0	a
server	1	b
worker	0	c
worker	1	a" "process i is on host i modulo the hosts, servers first"
is "$(dlaunch -P -n 3 -s 1 -H - pworker <"$TOP/share/hosts/mixed" | cut -f3 | paste -sd' ')" \
	"host node1 train@node2 node3 node1" "hosts from the standard input; slots come in rounds"
is "$(dlaunch -H "$T/hosts" --rsh 'env AT={host}' -n 2 -s 1 -- \
	sh -c 'echo $AT $DMLC_ROLE $DMLC_RANK $DMLC_NODE_HOST' | sort)" "a scheduler 0 a
a server 0 a
b worker 0 b
c worker 1 c" "another remote shell; without other word a host is called by its name"
printf 'a:7 addr=::1\nb slots=2\n' >"$T/hosts2"
is "$(dlaunch -H "$T/hosts2" --rsh 'env AT={host} P={port}' -n 3 -s 0 -- sh -c 'echo $AT ${P-none} $DMLC_NODE_HOST $OMP_NUM_THREADS' |
	sort | cut -d' ' -f1-3)" "a 7 [::1]
b none b
b none b" "ports and addresses of the hosts file"
is "$(dlaunch -H "$T/hosts" --interface lo --rsh 'env AT={host}' -n 1 -s 0 -- \
	sh -c 'echo $DMLC_NODE_HOST')" 127.0.0.1 "an interface's address"

# A shell may print before the agent does.
cat >"$T/noisy" <<'EOF'
#!/bin/sh
echo 'Welcome!'; printf '\001tally\001'; echo 'motd' >&2; shift
exec "$@"
EOF
chmod +x "$T/noisy"
is "$(dlaunch -H "$T/hosts" --rsh "$T/noisy {host}" -n 1 -s 0 -- echo through 2>"$T/err")" through "a remote shell's noise is skipped"
is "$(cat "$T/err")" "" "... on both streams"
dlaunch -v -H "$T/hosts" --rsh "$T/noisy {host}" -n 1 -s 0 -- true 2>"$T/err"
like "$T/err" '^a: motd' "... and shown when asked"

# How jobs fail.
status 3 "a worker's status is the job's" job -n 2 -s 2 -- fail 3
like "$T/err" '^dlaunch: worker 0 on localhost: exit status 3: the others are ended$' "... named"
like "$T/err" '^worker +1 +localhost +[0-9]+ +[0-9.]+  signal 15' "... and the others are ended"
ok "... all of them" none_left 1
status 137 "who dies of a signal gives 128 and the signal" dlaunch -s 0 -- sh -c 'kill -9 $$'
status 137 "the cause counts before the lost peer it is for others" job -n 2 -s 2 -- peer
status 127 "a command that is not there" dlaunch -n 2 -s 0 -- ./nosuch
like "$T/err" '^worker [01]: ./nosuch: No such file or directory' "... is named"
status 127 "a server that is not there" dlaunch --server-command ./nosuch "$T/bin/pworker"
like "$T/err" '^server 0: ./nosuch: No such file or directory' "... is named"
status 1 "a server that ends before it listens" dlaunch --server-command true "$T/bin/pworker" --do hello
like "$T/err" '^dlaunch: server 0 on localhost: ended before it said where it listens' "... is named"
status 75 "a server that never listens" dlaunch --timeout 1 --server-command 'sh -c "exec sleep 1000"' "$T/bin/pworker" --do hello
like "$T/err" '^dlaunch: waited 1 s for server 0 on localhost to listen' "... is named"
status 75 "a host that never answers" dlaunch --timeout 1 -H "$T/hosts" --rsh 'sh -c "exec sleep 1000"' -n 1 -s 0 -- true
like "$T/err" '^dlaunch: waited 1 s for host a to answer' "... is named"
status 75 "a remote shell that cannot connect" dlaunch -H "$T/hosts" --rsh 'sh -c "echo no route >&2; exit 255"' -n 1 -s 0 -- true
like "$T/err" '^dlaunch: host a: no agent answers: no route$' "... is named with its last words"
status 1 "a host without dlaunch" dlaunch -H "$T/hosts" --remote /nosuch/dlaunch --rsh 'env AT={host}' -n 1 -s 0 -- true
like "$T/err" '^dlaunch: host a: no agent answers: env: .*/nosuch/dlaunch' "... is named"
status 1 "a remote shell that is not there" dlaunch -H "$T/hosts" --rsh ./nosuch -n 1 -s 0 -- true
like "$T/err" '^dlaunch: host a: ./nosuch: No such file or directory' "... is named"
printf '#!/bin/sh\nrmdir "%s"; cd /; shift; exec "$@"\n' "$T/gone" >"$T/away"
chmod +x "$T/away"; mkdir "$T/gone"
status 1 "a directory that a host lacks" sh -c 'cd "$1/gone" && dlaunch -H "$1/hosts" --rsh "$1/away {host}" -n 1 -s 0 -- true' sh "$T"
like "$T/err" '^dlaunch: host a: .*/gone: No such file' "... is named"
printf 'a\nb addr=127.0.0.1\n' >"$T/near"
status 1 "a server that the other hosts cannot reach" dlaunch -H "$T/near" --rsh 'env AT={host}' --server-command "$T/bin/pserver" \
	--env STAND -n 2 -s 2 "$T/bin/pworker" --do hello
like "$T/err" '^dlaunch: host b: the other hosts cannot reach 127.0.0.1:1001' "... is named"
status 1 "an output that is full" sh -c 'dlaunch -s 0 -- echo x >/dev/full'
like "$T/err" '^dlaunch: standard output: write: No space left' "... is told once"

# A reader that goes away, or is slow.
ok "a closed output ends the job" sh -c '{ dlaunch -s 0 -- yes 2>/dev/null; echo $? >"$1/rc"; } |
	head -n 1 >/dev/null; test "$(cat "$1/rc")" = 1' sh "$T"
rm -rf "$STAND" && mkdir "$STAND"
is "$(job -n 2 -s 1 --silence 2 -- print 20000 2>/dev/null |
	{ read -rt 3 <> <(:); cat; } | cut -f1 | sort | uniq -c | sed 's/ *//')" "20000 0
20000 1" "a slow reader gets all, and no host is lost meanwhile"

# Faults of the command line and of the hosts file.
status 2 "no command" dlaunch -n 2
status 2 "no worker" dlaunch -n 0 -- true
status 2 "workers that would not know each other" dlaunch -n 2 -s 0 pworker
status 2 "a variable that is not set" dlaunch --env NOT_SET_ANYWHERE -- true
status 2 "a port that the remote shell would not be told" dlaunch -H "$T/hosts2" --rsh 'env AT={host}' -- true
status 2 "a template with half a quote" dlaunch -H "$T/hosts" --rsh "ssh 'x" -- true
printf 'a\nb slots=x\n' >"$T/bad"
status 1 "a bad hosts file" dlaunch -H "$T/bad" -- true
is "$(cat "$T/err")" "dlaunch: $T/bad:2: slots: 'x' is not a whole number" "... is named with its line"
status 1 "a hosts file that is not there" dlaunch -H "$T/none" -- true
is "$(cat "$T/err")" "dlaunch: $T/none: open: No such file or directory" "... is named"
done_testing
