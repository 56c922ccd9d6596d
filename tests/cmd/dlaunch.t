# dlaunch.t - streams, placement, exit statuses and messages of jobs on this machine.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
# The messages, without those about waiting on a slow machine.
said() { grep -v '^dlaunch: waiting for ' "$T/err"; }

# Jobs without faults.
status 0 "a job of two workers and two servers exits with 0" job -n 2 -s 2 -- hello
is "$(sort "$T/out")" "worker 0 of 2, servers 127.0.0.1:1000,127.0.0.1:1001
worker 1 of 2, servers 127.0.0.1:1000,127.0.0.1:1001" "workers get rank and servers in order, and their output is printed unchanged"
is "$(said | sort)" "server 0: listening
server 1: listening
worker 0: well
worker 1: well" "a process's name stands before each of its error lines"
is "$(cat "$STAND"/key.* | sort -u | wc -l)" 1 "all processes have the same key"
is "$(find "$STAND" -name 'key.*' | wc -l)" 4 "all four processes have a key"
cp "$STAND/key.server0" "$T/key"
job -n 1 -- hello >"$T/out" 2>&1
ok "the next job has another key" test "$(cat "$T/key")" != "$(cat "$STAND/key.server0")"
status 0 "one worker runs without servers" job -n 1 -s 0 -- hello
is "$(cat "$T/out")" "worker  of , servers " "a worker without servers gets no options about servers"
status 0 "-v prints a table" job -v -n 2 -s 1 -- hello
is "$(grep -cE '^(server +0|worker +[01]) +localhost +[0-9]+ +[0-9.]+ +[0-9.]+  exit status 0$' "$T/err")" 3 \
	"-v prints a line a process"

# Environment.
is "$(job -n 4 -s 1 -- env OMP_NUM_THREADS 2>/dev/null | sort -u)" \
	"$(n=$(($(nproc) / 4)); echo $((n > 0 ? n : 1)))" "a worker's threads are its part of the processors"
is "$(OMP_NUM_THREADS=7 job -n 1 -- env OMP_NUM_THREADS 2>/dev/null)" 7 "OMP_NUM_THREADS of the user takes precedence"
is "$(job -n 1 -- env OMP_WAIT_POLICY 2>/dev/null)" passive "threads wait without spinning"
is "$(TALLY_MAX_ISA=avx2 job -n 1 -- env TALLY_MAX_ISA 2>/dev/null)" avx2 "processes get the limit of instruction sets"
is "$(FOO='a b' job --env FOO -n 1 -- env FOO 2>/dev/null)" "a b" "--env NAME passes the value here"
is "$(job --env FOO='c=d' -n 1 -- env FOO 2>/dev/null)" "c=d" "--env NAME=VALUE sets a value"
is "$(FOO=x job -x FOO -n 1 -- env FOO 2>/dev/null)" "x" "-x is short for --env"
is "$(dlaunch -s 0 --chdir "$T/bin" -- pwd)" "$T/bin" "--chdir sets the directory of the processes"
status 1 "--chdir refuses a missing directory" dlaunch -s 0 --chdir "$T/nowhere" -- pwd
like "$T/err" '^dlaunch: host localhost: .*/nowhere: No such file' "the error names the missing directory"
is "$(dlaunch -n 3 -s 0 --each --threads=4:2:8 --each=-x=a::c -- sh -c 'echo "$@."' sh q | sort)" "q --threads 2 -x .
q --threads 4 -x a.
q --threads 8 -x c." "--each gives each worker its value"
is "$(dlaunch -P -n 2 -s 1 --each --threads=4:2 -- x | cut -f4 | paste -sd,)" \
	"command,x,x,x --threads 4,x --threads 2" "--each applies only to workers"
status 2 "--each refuses too few values" dlaunch -n 3 -s 0 --each --threads=4:2 -- true
is "$(cat "$T/err")" "dlaunch: --each: --threads=4:2: 2 values for 3 workers" "the error counts the values of --each"
status 2 "--each refuses a word without values" dlaunch --each --threads -- true
is "$(job -n 1 -- env PATH 2>/dev/null | cut -d: -f1)" "$BUILD" "PATH begins with dlaunch's own directory"
is "$(cd "$T/bin" && dlaunch -s 0 -- pwd)" "$T/bin" "processes run in dlaunch's directory"
is "$(dlaunch -s 0 -- cat </etc/passwd)" "" "processes have an empty input"
is "$(dlaunch -s 0 -- sh -c 'printf "no newline"; printf "none" >&2' 2>"$T/err")" "no newline" \
	"a last line without its newline is printed"
is "$(said)" "worker 0: none" "a last error line without its newline is printed"

# Programs made for dmlc's trackers.
dlaunch -n 2 -s 2 -- sh -c 'echo "$DMLC_ROLE $DMLC_RANK/$DMLC_TASK_ID $DMLC_NUM_WORKER $DMLC_NUM_SERVER" \
	"${DMLC_WORKER_ID-none} ${DMLC_SERVER_ID-none} $DMLC_NODE_HOST"
	echo "$DMLC_PS_ROOT_URI:$DMLC_PS_ROOT_PORT" >&2' >"$T/out" 2>"$T/err"
is "$(sort "$T/out")" "scheduler 0/0 2 2 none none 127.0.0.1
server 0/0 2 2 none 0 127.0.0.1
server 1/1 2 2 none 1 127.0.0.1
worker 0/0 2 2 0 none 127.0.0.1
worker 1/1 2 2 1 none 127.0.0.1" "another command runs in all roles, which DMLC_ROLE distinguishes"
is "$(sed 's/.*: //' "$T/err" | sort | uniq -c | sed 's/  *//; s/[0-9]*$//')" "5 127.0.0.1:" "all processes know one scheduler"
is "$(dlaunch -n 2 -s 0 -- sh -c 'echo $DMLC_ROLE ${DMLC_PS_ROOT_URI-none}' | sort -u)" "worker none" \
	"a job without servers has no scheduler"

# Placement.
printf 'a\n\n# no host\nb\nc\n' >"$T/hosts"
is "$(dlaunch -P -n 2 -s 2 -H "$T/hosts" pworker --net "it's" 'a b' | grep -v '^#')" "role	rank	host	command
server	0	a	pserver
server	1	b	pserver
worker	0	c	pworker --net 'it'\\''s' 'a b'
worker	1	a	pworker --net 'it'\\''s' 'a b'" "process i is on host i modulo the hosts, servers first"
is "$(dlaunch --dry-run -n 3 -s 1 -H - pworker <"$TOP/share/hosts/mixed" | grep -v '^#' | cut -f3 | paste -sd' ')" \
	"host node1 train@node2 node3 node1" "-H - reads hosts from the standard input, and slots are used in rounds"
is "$(dlaunch -H "$T/hosts" --rsh 'env AT={host}' -n 2 -s 1 -- \
	sh -c 'echo $AT $DMLC_ROLE $DMLC_RANK $DMLC_NODE_HOST' | sort)" "a scheduler 0 a
a server 0 a
b worker 0 b
c worker 1 c" "--rsh runs a template, and a host's address is its name"
is "$(SSH_CONNECTION='198.51.100.7 4000 203.0.113.9 22' dlaunch -H "$T/hosts" --rsh 'env AT={host}' -n 1 -s 0 -- \
	sh -c 'echo $DMLC_NODE_HOST')" a \
	"a remote shell that passes our environment on, as srun does, does not give a host the address of our own ssh session"
printf 'a:7 addr=::1\nb slots=2\n' >"$T/hosts2"
is "$(dlaunch -H "$T/hosts2" --rsh 'env AT={host} P={port}' -n 3 -s 0 -- sh -c 'echo $AT ${P-none} $DMLC_NODE_HOST $OMP_NUM_THREADS' |
	sort | cut -d' ' -f1-3)" "a 7 [::1]
b none b
b none b" "ports and addresses come from the hosts file"
is "$(dlaunch -H "$T/hosts" --interface lo --rsh 'env AT={host}' -n 1 -s 0 -- \
	sh -c 'echo $DMLC_NODE_HOST')" 127.0.0.1 "--interface selects the address"
status 1 "--interface without hosts refuses an interface that is not there" dlaunch --interface nosuch0 -n 1 -s 0 -- true
like "$T/err" 'interface nosuch0: not there, or without an address' "the error names the interface"

# The commands of remote shells.
printf 'a\nme@[fe80::7]:23\n' >"$T/two"
agent() { dlaunch -P -H "$T/two" -n 2 -s 0 "$@" --remote /x/dlaunch -- true | grep '^#'; }
is "$(agent | sed 's/ -o [^ ]*//g')" "# a: ssh -T -x a /x/dlaunch --agent
# me@fe80::7: ssh -T -x -oPort=23 me@fe80::7 /x/dlaunch --agent" "the remote shell is ssh"
is "$(agent --rsh ssh)" "$(agent)" "--rsh ssh is the default"
# Silence of twice as long, or of this long for a detached job, and a sign more.
alive() { agent "$@" | head -n 1 | grep -oE 'ServerAlive[^ ]*' | paste -sd' '; }
is "$(alive), $(alive --silence 90), $(alive --silence 90 --detach)" "ServerAliveInterval=21 ServerAliveCountMax=3, \
ServerAliveInterval=61 ServerAliveCountMax=3, ServerAliveInterval=31 ServerAliveCountMax=3" "ssh does not give up before --silence"
printf 'a\nb\n' >"$T/two"
is "$(agent --rsh mpi | tail -n 1)" "# b: mpirun --host b -n 1 --bind-to none /x/dlaunch --agent" "--rsh mpi runs mpirun"
is "$(agent --rsh kubectl | tail -n 1)" "# b: kubectl exec -i b -- /x/dlaunch --agent" "--rsh kubectl runs kubectl exec"
is "$(agent --rsh 'on {host} do' | tail -n 1)" "# b: on b do /x/dlaunch --agent" "--rsh runs a template"
is "$(agent --rsh 'on' | tail -n 1)" "# b: on b /x/dlaunch --agent" "the host is added to a template without {host}"
export SLURM_JOB_NODELIST='n[08-10],m' SLURM_TASKS_PER_NODE='2,1(x3)'
slurm() { dlaunch -P --rsh slurm -n 5 -s 0 --remote /x/dlaunch -- true; }
is "$(slurm | sed -n 1p)" "# n08: srun --nodes=1 --ntasks=1 --nodelist=n08 --overlap --cpu-bind=none --unbuffered --quiet \
/x/dlaunch --agent" "--rsh slurm runs srun"
is "$(slurm | grep ^worker | cut -f3 | paste -sd' ')" "n08 n09 n10 m n08" "slurm uses the hosts and slots of the allocation"
unset SLURM_JOB_NODELIST SLURM_TASKS_PER_NODE
is "$(SLURM_JOB_NODELIST=n1 dlaunch -P -H "$T/two" --rsh slurm -n 1 -s 0 -- true | tail -n 1 | cut -f3)" a \
	"a hosts file takes precedence over the allocation"
status 2 "--rsh slurm refuses to run outside an allocation" env -u SLURM_JOB_NODELIST dlaunch --rsh slurm -n 1 -s 0 -- true
is "$(cat "$T/err")" "dlaunch: --rsh slurm: no hosts; name them with -H" "the error asks for hosts"
status 1 "a malformed SLURM_JOB_NODELIST is refused" env SLURM_JOB_NODELIST='n[1' dlaunch --rsh slurm -n 1 -s 0 -- true
like "$T/err" "^dlaunch: SLURM_JOB_NODELIST: '1' is not a list|^dlaunch: SLURM_JOB_NODELIST: '\[' without ']'" \
	"the error names SLURM_JOB_NODELIST"

# The same with stand-ins that run their arguments.
cat >"$T/bin/kubectl" <<'EOF'
#!/bin/bash
[ "$1 $2 $4" = "exec -i --" ] || exit 9
pod=$3
shift 4
exec env AT="kubectl $pod" "$@"
EOF
cat >"$T/bin/srun" <<'EOF'
#!/bin/bash
while [ "$1" != "${1#-}" ]; do
	case $1 in --nodelist=*) host=${1#*=} ;; esac
	shift
done
exec env AT="srun $host" "$@"
EOF
cat >"$T/bin/mpirun" <<'EOF'
#!/bin/bash
[ "$1 $3 $4 $5 $6" = "--host -n 1 --bind-to none" ] || exit 9
host=$2
shift 6
exec env AT="mpirun $host" "$@"
EOF
chmod +x "$T/bin/kubectl" "$T/bin/srun" "$T/bin/mpirun"
is "$(PATH=$T/bin:$PATH dlaunch -H "$T/two" --rsh kubectl -n 2 -s 0 -- sh -c 'echo $AT' | sort | paste -sd,)" \
	"kubectl a,kubectl b" "a job through kubectl"
is "$(PATH=$T/bin:$PATH dlaunch -H "$T/two" --rsh mpi -n 2 -s 0 -- sh -c 'echo $AT' | sort | paste -sd,)" \
	"mpirun a,mpirun b" "a job through mpirun"
is "$(PATH=$T/bin:$PATH SLURM_JOB_NODELIST='n[1-2]' dlaunch --rsh slurm -n 2 -s 0 -- sh -c 'echo $AT' | sort | paste -sd,)" \
	"srun n1,srun n2" "a job through srun"

# A shell may print before the agent does.
cat >"$T/noisy" <<'EOF'
#!/bin/sh
echo 'Welcome!'; printf '\001tally\001'; echo 'motd' >&2; shift
exec "$@"
EOF
chmod +x "$T/noisy"
is "$(dlaunch -H "$T/hosts" --rsh "$T/noisy {host}" -n 1 -s 0 -- echo through 2>"$T/err")" through \
	"a remote shell's output before the agent's is skipped"
is "$(said)" "" "a remote shell's errors before the agent answers are not shown"
dlaunch -v -H "$T/hosts" --rsh "$T/noisy {host}" -n 1 -s 0 -- true 2>"$T/err"
like "$T/err" '^a: motd' "-v shows a remote shell's errors before the agent answers"

# How jobs fail.
status 3 "a worker's status is the job's" job -n 2 -s 2 -- fail 3
like "$T/err" '^dlaunch: worker 0 on localhost: exit status 3: ending the others$' "the failed worker is reported"
like "$T/err" '^worker +1 +localhost +[0-9]+ +[0-9.]+ +[0-9.]+  signal 15' "the other worker is ended by SIGTERM"
ok "nothing of a failed job is left" none_left
status 137 "a process killed by a signal gives 128 and the signal" dlaunch -s 0 -- sh -c 'kill -9 $$'
status 137 "a killed server counts before the worker that lost it" job -n 2 -s 2 -- peer
mkfifo "$T/up"
status 3 "a worker that does not end leaves the status of the first failure" dlaunch --grace 0 -n 2 -s 0 -- sh -c 'trap "" TERM
	if [ "$DMLC_WORKER_ID" = 0 ]; then read -r _ <"$0"; exit 3; fi; echo >"$0"; sleep 8' "$T/up"
like "$T/err" '^worker +1 +localhost +.*  signal 9' "a worker that ignores SIGTERM is killed after --grace"
status 127 "a missing command gives 127" dlaunch -n 2 -s 0 -- ./nosuch
like <(head -n 1 "$T/err") '^worker [01]: ./nosuch: No such file or directory' "the first line names the missing command"
is "$(grep -cE '^worker +[01] +localhost +- +0\.0 +0\.0  exit status 127$' "$T/err")" 2 \
	"each process of a missing command has a row"
: >"$T/plain"
status 126 "a command that cannot be run gives 126" dlaunch -n 1 -s 0 -- "$T/plain"
like "$T/err" '^worker +0 +localhost +- +0\.0 +0\.0  exit status 126$' "a process that cannot be run has a row"
status 127 "a missing server command gives 127" dlaunch --server-command ./nosuch "$T/bin/pworker"
like "$T/err" '^server 0: ./nosuch: No such file or directory' "the error names the missing server command"
status 1 "a server that ends before it listens" dlaunch --server-command true "$T/bin/pworker" --do hello
like "$T/err" '^dlaunch: server 0 on localhost: ended before it listened' "the server that ended is named"
status 75 "a server that never listens" dlaunch --timeout 3 --server-command 'sh -c "exec sleep 1000"' "$T/bin/pworker" --do hello
like "$T/err" '^dlaunch: waited [0-9]+ s for server 0 on localhost to listen' "the server that never listens is named"
status 75 "a host that never answers" dlaunch --timeout 1 -H "$T/hosts" --rsh 'sh -c "exec sleep 1000"' -n 1 -s 0 -- true
like "$T/err" '^dlaunch: waited [0-9]+ s for host a to answer' "the host that never answers is named"
status 75 "a remote shell that cannot connect" dlaunch -H "$T/hosts" --rsh 'sh -c "echo no route >&2; exit 255"' -n 1 -s 0 -- true
like "$T/err" '^dlaunch: host a: no agent answers: no route$' "the host is named with the remote shell's last line"
status 1 "a host without dlaunch" dlaunch -H "$T/hosts" --remote /nosuch/dlaunch --rsh 'env AT={host}' -n 1 -s 0 -- true
like "$T/err" '^dlaunch: host a: no agent answers: env: .*/nosuch/dlaunch' "the host without dlaunch is named"
status 1 "a remote shell that is not there" dlaunch -H "$T/hosts" --rsh ./nosuch -n 1 -s 0 -- true
like "$T/err" '^dlaunch: host a: ./nosuch: No such file or directory' "the missing remote shell is named"
printf '#!/bin/sh\nrmdir "%s"; cd /; shift; exec "$@"\n' "$T/gone" >"$T/away"
chmod +x "$T/away"; mkdir "$T/gone"
status 1 "a directory that a host lacks" \
	sh -c 'cd "$1/gone" && dlaunch -H "$1/hosts" --rsh "$1/away {host}" -n 1 -s 0 -- true' sh "$T"
like "$T/err" '^dlaunch: host a: .*/gone: No such file' "the missing directory and its host are named"
printf 'a\nb addr=127.0.0.1\n' >"$T/near"
status 1 "a server that the other hosts cannot reach" \
	dlaunch -H "$T/near" --rsh 'env AT={host}' --server-command "$T/bin/pserver" \
	--env STAND -n 2 -s 2 "$T/bin/pworker" --do hello
like "$T/err" '^dlaunch: host b: the other hosts cannot reach 127.0.0.1:1001' "the unreachable server is named"
# Worker 0 loses its peer before the end of worker 1 is known.
cat >"$T/consequence" <<'EOF'
#!/bin/bash
if [ "$DMLC_RANK" = 0 ]; then
	echo $$ >"$1/worker0.new" && mv "$1/worker0.new" "$1/worker0"
	exit 75
fi
until [ -e "$1/worker0" ]; do read -rt 0.02 <> <(:); done
while kill -0 "$(cat "$1/worker0")" 2>/dev/null; do read -rt 0.02 <> <(:); done
kill -9 $$
EOF
status 137 "a killed worker gives its status, not that of the worker that lost it" \
	dlaunch -n 2 -s 0 -- bash "$T/consequence" "$T"
is "$(grep -m 1 '^dlaunch: ' "$T/err")" "dlaunch: worker 1 on localhost: signal 9 (Killed): ending the others" \
	"the first line about a failed job is its cause"
status 75 "a worker that loses an unknown peer gives 75" dlaunch -n 1 -s 0 -- sh -c 'exit 75'
like "$T/err" '^dlaunch: worker 0 on localhost: exit status 75$' "the lost peer is reported when no cause is known"
status 1 "a full output gives 1" sh -c 'dlaunch -s 0 -- echo x >/dev/full'
like "$T/err" '^dlaunch: standard output: write: No space left' "the full output is reported"

# One failure that does not end the others.
mkfifo "$T/fifo"
status 3 "--on-fail wait: a failure is the job's status" dlaunch --on-fail wait -n 2 -s 0 -- \
	bash -c 'if [ $DMLC_RANK = 0 ]; then echo 0 >"$1"; exit 3; fi; read x <"$1"; read -t 0.3 <> "$2"; echo on' sh "$T/fifo" "$T/out"
is "$(cat "$T/out")" "on" "--on-fail wait lets the other worker run to its end"
like "$T/err" '^dlaunch: worker 0 on localhost: exit status 3$' "--on-fail wait reports the failure"
like "$T/err" '^worker +1 +localhost .*  exit status 0$' "the other worker ends with its own status"
status 2 "--on-fail refuses an unknown word" dlaunch --on-fail panic -- true

# Input.
is "$(printf 'a\nb' | dlaunch --stdin -n 2 -s 1 -- sh -c 'cat; echo "$DMLC_ROLE $DMLC_RANK"' | sort | paste -sd,)" \
	"a,bworker 0,scheduler 0,server 0,worker 1" "--stdin gives worker 0 the input"
is "$(head -c 5000000 /dev/urandom >"$T/much"; dlaunch --stdin -s 0 -- sh -c 'read -r x; md5sum' <"$T/much")" \
	"$(tail -n +2 "$T/much" | md5sum)" "--stdin passes every byte"
is "$(yes | head -c 3000000 | dlaunch --stdin -s 0 -- sh -c 'read x; echo $x; exec <&-; exec sleep 0.2')" y \
	"worker 0 may close its input early"
ok "a job with --stdin ends although its input does not" \
	sh -c 'yes | timeout 20 dlaunch --stdin -s 0 -- head -n 1 >"$1"; test "$(cat "$1")" = y' sh "$T/y"
is "$(dlaunch --stdin -s 0 -- cat </dev/null)" "" "--stdin may be empty"
is "$(printf 'to b\n' | dlaunch --stdin -H "$T/two" --rsh 'env AT={host}' -n 1 -s 1 -- \
	sh -c '[ $DMLC_ROLE != worker ] || { read x; echo $AT $x; }')" "b to b" "--stdin reaches worker 0 on another host"
status 2 "--stdin is refused with --restart" dlaunch --stdin --restart 1 -- true

# Copies.
mkdir -p "$T/code/sub" "$T/code/it's \$a *"
echo one >"$T/code/sub/a b"
printf '#!/bin/bash\nhost=$1; shift; cd "%s/$host" || exit 255; exec bash -c "$*"\n' "$T" >"$T/bin/shell"
chmod +x "$T/bin/shell"
mkdir "$T/a" "$T/b"
if ! command -v rsync >/dev/null; then
	skip "--sync" "no rsync"
else
	status 0 "--sync" dlaunch -H "$T/two" --rsh "$T/bin/shell {host}" --sync "$T/code:new/code" -n 2 -s 0 -- true
	is "$(cat "$T/out" "$T/err")" "" "--sync prints nothing"
	for h in a b; do
		ok "--sync copies to host $h" diff -r "$T/code" "$T/$h/new/code"
	done
	echo three >"$T/code/sub/a b"; echo stays >"$T/a/new/code/own"
	status 0 "--sync accepts a path with shell characters" \
		dlaunch -H "$T/two" --rsh "$T/bin/shell {host}" --sync "$T/code:it's \$(x) *" -n 1 -s 0 -- true
	ok "--sync copies to a path with shell characters" diff -r "$T/code" "$T/a/it's \$(x) *"
	ok "--sync copies only to hosts of the job" test ! -e "$T/b/it's \$(x) *"
	dlaunch -H "$T/two" --rsh "$T/bin/shell {host}" --sync "$T/code:new/code" -n 2 -s 0 -- true
	is "$(cat "$T/a/new/code/sub/a b" "$T/a/new/code/own")" "three
stays" "--sync replaces files that differ and keeps the others"
	status 0 "--sync to the same path" dlaunch -H "$T/two" --rsh "$T/bin/shell {host}" --sync "$T/code" -n 2 -s 0 -- true
	status 0 "--sync on this machine" dlaunch --sync "$T/code:$T/here" -s 0 -- true
	ok "--sync copies on this machine" diff -r "$T/code" "$T/here"
	mv "$T/b" "$T/c"
	status 75 "--sync to a host that is not there" \
		dlaunch -H "$T/two" --rsh "$T/bin/shell {host}" --sync "$T/code:x" -n 2 -s 0 -- echo ran
	like "$T/err" '^dlaunch: host b: .*cd: .*/b: No such file' "--sync prints the remote shell's error"
	like "$T/err" '^dlaunch: --sync: host b: rsync: exit status (255|12)$' "--sync reports rsync's exit status"
	is "$(cat "$T/out")" "" "nothing is started after a failed copy"
	mkdir "$T/b" && : >"$T/b/x"
	status 1 "--sync to where no directory can be" \
		dlaunch -H "$T/two" --rsh "$T/bin/shell {host}" --sync "$T/code:x/y" -n 2 -s 0 -- true
	like "$T/err" '^dlaunch: host b: rsync: .*x' "--sync prints rsync's error"
	status 1 "--sync of nothing" dlaunch --sync "$T/nowhere:x" -s 0 -- true
	is "$(cat "$T/err")" "dlaunch: --sync: $T/nowhere: No such file or directory" \
		"the error names the missing directory of --sync"
fi

# Started again.
again() { dlaunch --restart 3 -n 1 -s 0 -- sh -c 'echo "$DMLC_NUM_ATTEMPT"; [ "$DMLC_NUM_ATTEMPT" = 2 ] || '"$1"; }
for how in 'exit 254' 'exit 75' 'kill -9 $$' 'kill -15 $$'; do
	status 0 "--restart after $how" again "$how"
	is "$(paste -sd, "$T/out")" 0,1,2 "--restart after $how repeats the job until it succeeds"
done
like "$T/err" '^dlaunch: restart 2 of 3$' "each restart is reported"
status 3 "a job with another status ends with it" again 'exit 3'
is "$(cat "$T/out")" 0 "status 3 causes no restart"
status 254 "a job that always fails ends with its status" dlaunch --restart 1 -n 1 -s 0 -- sh -c 'echo x; exit 254'
is "$(paste -sd, "$T/out")" x,x "--restart 1 runs a failing job twice"
status 254 "without --restart" dlaunch -n 1 -s 0 -- sh -c 'echo x; exit 254'
is "$(paste -sd, "$T/out")" x "without --restart a job runs once"
status 2 "--restart refuses pworker without --save" dlaunch --restart 1 pworker --net lenet
is "$(cat "$T/err")" "dlaunch: --restart: pworker needs --save, as it resumes from a checkpoint" "the error asks for --save"
: >"$T/out"
env --default-signal=INT dlaunch --restart 3 -n 1 -s 0 -- sh -c 'echo x; exec sleep 1000' >"$T/out" 2>"$T/err" &
pid=$!
line_of "$T/out" x 1 && kill -INT "$pid"
wait "$pid"
is "$? $(paste -sd, "$T/out")" "130 x" "a job ended by the user is not started again"

# Files of their own.
status 0 "--output" dlaunch --output "$T/logs" -n 2 -s 1 -- sh -c 'echo "$DMLC_ROLE out"; echo "$DMLC_RANK err" >&2'
is "$(cat "$T/out" "$T/err")" "" "--output prints nothing"
is "$(cd "$T/logs" && head -n 9 -- * | grep . | paste -sd' ')" "==> scheduler-0.err <== 0 err ==> scheduler-0.out <== scheduler out \
==> server-0.err <== 0 err ==> server-0.out <== server out ==> worker-0.err <== 0 err ==> worker-0.out <== worker out \
==> worker-1.err <== 1 err ==> worker-1.out <== worker out" "--output writes a file a process and stream"
status 0 "--output again" dlaunch --output "$T/logs" -n 1 -s 0 -- true
is "$(cat "$T/logs/worker-0.out" "$T/logs/worker-0.err")" "" "--output empties existing files"
status 0 "--output accepts a missing directory" dlaunch --output "$T/new/er/logs/" -s 0 -- echo here
is "$(cat "$T/new/er/logs/worker-0.out")" here "--output makes missing directories"
status 1 "--output refuses a path through a file" dlaunch --output "$T/plain/er/logs" -s 0 -- true
like "$T/err" '^dlaunch: --output: .*/plain/er/logs: Not a directory' "the error names the directory of --output"

# Peak memory.
status 0 "a process of 30 MB" dlaunch -v -n 1 -s 0 -- perl -e '$x = "x" x 30e6; print length $x'
ok "the table has the peak memory" awk '$1 == "worker" && $6 >= 30 && $6 < 200 { n++ } END { exit n != 1 }' "$T/err"

# A reader that ends, or is slow.
ok "a closed output ends the job" sh -c '{ dlaunch -s 0 -- yes 2>/dev/null; echo $? >"$1/rc"; } |
	head -n 1 >/dev/null; test "$(cat "$1/rc")" = 1' sh "$T"
rm -rf "$STAND" && mkdir "$STAND"
is "$(job -n 2 -s 1 --silence 2 -- print 20000 2>/dev/null |
	{ read -rt 3 <> <(:); cat; } | cut -f1 | sort | uniq -c | sed 's/ *//')" "20000 0
20000 1" "a slow reader gets all lines, and no host is lost"

# Errors of the command line and of the hosts file.
status 2 "a command line without a command is refused" dlaunch -n 2
: >"$T/precious"
status 2 "a command without an option in front is refused" dlaunch unlink "$T/precious"
is "$(cat "$T/err")" "dlaunch: 'unlink' is neither a verb (attach, list, logs, rm, scale, set, status, stop, wait) nor a tool of tally; \
put -- before another command" "the error lists the verbs"
status 2 "a verb with letters exchanged is refused" dlaunch stpo
is "$(cat "$T/err")" "dlaunch: 'stpo' is no verb and no tool of tally; did you mean stop?" "the error has the nearest verb"
status 2 "rm refuses a path" dlaunch rm "$T/precious"
is "$(cat "$T/err")" "dlaunch: '$T/precious' is not a job name; use letters, digits and . _ - (not first)" \
	"the error says what a job's name is"
status 2 "a command after a recipe is refused" dlaunch @mnist-lenet rm "$T/precious"
like "$T/err" "^dlaunch: 'rm' is neither a verb" "the error names the command after the recipe"
status 2 "an empty command is refused" dlaunch "" "$T/precious"
ok "no command removed the file" test -e "$T/precious"
status 2 "a mistyped verb is refused" dlaunch stauts
status 2 "a path of another command is refused" dlaunch ./train.sh
status 2 "a verb without its job is refused" dlaunch stop
is "$(cat "$T/err")" "dlaunch: stop: needs the name of one job" "the error asks for the name of a job"
is "$(dlaunch plog --version)" "$(printf '%s\n' "$(plog --version)"{,,})" "a tool of tally needs no option in front"
is "$(dlaunch "$BUILD/plog" --version | sort -u)" "$(plog --version)" "a path of a tool needs no option before it"
is "$(dlaunch -s 0 echo option) $(dlaunch -- echo dashes | sort -u)" "option dashes" \
	"another command runs after an option, or after --"
status 2 "-n 0 is refused" dlaunch -n 0 -- true
status 2 "two workers without a server are refused" dlaunch -n 2 -s 0 pworker
status 2 "--env refuses a variable that is not set" dlaunch --env NOT_SET_ANYWHERE -- true
status 2 "a port is refused if --rsh has no {port}" dlaunch -H "$T/hosts2" --rsh 'env AT={host}' -- true
status 2 "a template with an open quote is refused" dlaunch -H "$T/hosts" --rsh "ssh 'x" -- true
printf 'a\nb slots=x\n' >"$T/bad"
status 1 "a faulty hosts file is refused" dlaunch -H "$T/bad" -- true
is "$(cat "$T/err")" "dlaunch: $T/bad:2: slots: 'x' is not a whole number" "the error names the hosts file's line"
status 1 "a missing hosts file is refused" dlaunch -H "$T/none" -- true
is "$(cat "$T/err")" "dlaunch: $T/none: No such file; write the name of a host on each line of one" \
	"the error names the missing hosts file and what to write"
status 1 "a path through a file is refused" dlaunch -H "$T/bad/hosts" -- true
is "$(cat "$T/err")" "dlaunch: $T/bad/hosts: open: Not a directory" "the error says why the hosts file cannot be read"
# Descriptors: a limit is raised if possible; otherwise the error says what is needed.  Inherited ones would count.
shut="exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-"
for n in 4 8 20; do
	status 1 "a limit of $n open files is refused" bash -c "$shut; ulimit -n $n; exec dlaunch -n 1 -s 0 -- true"
	is "$(cat "$T/err")" "dlaunch: 1 hosts need 28 open files, and the limit is $n (ulimit -n)" \
		"the error gives the number of files needed"
done
# An agent is started on every host: what it loads is paid for as often.
if [ -n "${SAN:-}" ]; then
	skip "dlaunch needs no library but the C library" "a sanitizer needs more"
else
	is "$(readelf -d "$BUILD/dlaunch" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v '^ld-linux')" libc.so.6 \
		"dlaunch needs no library but the C library"
fi
status 0 "a limit of open files is raised if possible" bash -c 'ulimit -S -n 8; exec dlaunch -n 2 -s 0 -- true'
done_testing
