# ssh.t - jobs over ssh: two daemons of the test's own on loopback, and hosts in network namespaces.
# TIMES=20 kills launchers, agents and ssh, and pulls cables, as often.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
. "$TOP/tests/sshd.sh"
. "$TOP/tests/netns.sh"
away() {
	living | xargs -r kill -9
	sshd_stop
	netns_away
	rm -rf "$T"
}
trap away EXIT

[ -n "$sshd" ] || { echo "1..0 # SKIP no sshd that lets this user in"; exit 0; }
# The second host's shell prints to both streams.
sshd_setup
# shellcheck disable=SC2016
echo 'ForceCommand echo "Last login: never"; echo motd >&2; eval "$SSH_ORIGINAL_COMMAND"' >"$T/ssh/two.more"
ok "a first host runs sshd" sshd_start one 127.0.0.1 0
ok "a second host runs sshd" sshd_start two 127.0.0.1 0
printf 'one\ntwo\n' >"$T/hosts"
rsh="ssh -F $T/ssh/config {host}"

over() { job -H "$T/hosts" --rsh "$rsh" "$@"; }
status 0 "two workers and two servers run on two hosts" over -v -n 2 -s 2 -- hello
is "$(sort "$T/out")" "worker 0 of 2, servers 127.0.0.1:1000,127.0.0.1:1001
worker 1 of 2, servers 127.0.0.1:1000,127.0.0.1:1001" "servers have the address that ssh connected to, and the shell's output is skipped"
is "$(grep -oE '^(server|worker) +[01] +(one|two)' "$T/err" | tr -s ' ' | paste -sd,)" \
	"server 0 one,server 1 two,worker 0 one,worker 1 two" "each host has one worker and one server"
like "$T/err" '^two: motd' "-v shows a shell's errors"
status 3 "a worker's status is the job's" over -n 2 -s 2 -- fail 3
ok "a failed job over ssh leaves nothing" none_left
is "$(cd "$T/bin" && dlaunch -H "$T/hosts" --rsh "$rsh" -n 2 -s 0 -- pwd | sort -u)" "$T/bin" \
	"processes run in dlaunch's directory"
is "$(dlaunch -H "$T/hosts" --rsh "$rsh" -n 1 -s 0 -- sh -c 'echo "$1 $2"; echo "$3"' sh 'a  b' '*' "it's" | paste -sd,)" "a  b *,it's" \
	"arguments arrive unchanged"
is "$(over -n 2 -s 1 -- print 5000 2>/dev/null | cut -f1 | sort | uniq -c | sed 's/ *//' | paste -sd,)" "5000 0,5000 1" \
	"all lines are printed"

if command -v rsync >/dev/null; then
	printf 'one\n' >"$T/first"
	status 0 "--sync works over ssh" dlaunch -H "$T/first" --rsh "$rsh" --sync "$TOP/lib/run:$T/the \$copy" -n 1 -s 0 -- true
	ok "--sync over ssh copies the directory" diff -r "$TOP/lib/run" "$T/the \$copy"
	status 1 "--sync fails over a shell that prints" over --sync "$TOP/lib/run:$T/other" -n 1 -s 1 -- hello
	like "$T/err" '^dlaunch: host two: .*is your shell clean' "the error of rsync is printed"
else
	skip "--sync over ssh" "no rsync"
fi

# Host keys are checked, and ssh's error is reported.
sed 's/^\(\[127.*\]:[0-9]*\) .*/\1 /' "$T/ssh/known" | sed "s,\$,$(cut -d' ' -f1,2 "$T/ssh/user.pub")," >"$T/ssh/other"
sed "s,UserKnownHostsFile .*,UserKnownHostsFile $T/ssh/other," "$T/ssh/config" >"$T/ssh/config.other"
status 75 "a host with another key is refused" job -H "$T/hosts" --rsh "ssh -F $T/ssh/config.other {host}" -n 1 -s 1 -- hello
like "$T/err" '^dlaunch: host (one|two): no agent answers: Host key verification failed' "the host is named with ssh's last line"
sed "s,UserKnownHostsFile .*,UserKnownHostsFile /dev/null," "$T/ssh/config" >"$T/ssh/config.none"
status 75 "a host that is not known is refused" job -H "$T/hosts" --rsh "ssh -F $T/ssh/config.none {host}" -n 1 -s 1 -- hello
like "$T/err" '^dlaunch: host (one|two): no agent answers: Host key verification failed' \
	"the unknown host is named, and nobody is asked"
printf 'one\n127.0.0.1:%s\n' "$(free_port)" >"$T/shut"
status 75 "a host that does not listen gives 75" \
	job -H "$T/shut" --rsh "ssh -F $T/ssh/config -oPort={port} {host}" -n 2 -s 2 -- hello
like "$T/err" '^dlaunch: host 127.0.0.1: no agent answers: ssh: connect to host 127.0.0.1 port [0-9]+: Connection refused' \
	"the host that does not listen is named"
ok "an unreachable host leaves nothing on the others" none_left
status 1 "a host without dlaunch gives 1" over -n 1 -s 1 --remote /nosuch/dlaunch -- hello
like "$T/err" '^dlaunch: host (one|two): no agent answers: .*/nosuch/dlaunch' "the host without dlaunch is named"

# start WORKERS WRAPPER... -- OPTION...: a job over the hosts in the background, its workers at work; $pid is dlaunch.
start() {
	local wrapper=()
	while [ "$1" != -- ]; do wrapper+=("$1"); shift; done
	shift
	rm -rf "$STAND" && mkdir "$STAND"
	: >"$T/out"
	"${wrapper[@]}" env --default-signal=INT dlaunch -n 2 -s 2 -H "$T/hosts" --rsh "$rsh" --server-command "$T/bin/pserver" \
		--env STAND "$@" >"$T/out" 2>"$T/err" &
	pid=$!
	line_of "$T/out" waits 2 && line_of "$STAND/pids" . 6
}
ends() {
	wait "$pid"
	local got=$?
	[ $got -eq "$1" ] || { echo "exit status $got, want $1"; cat "$T/err"; return 1; }
}
shells() { tr ' ' '\n' <"/proc/$pid/task/$pid/children" | grep .; }

for ((i = 0; i < ${TIMES:-1}; i++)); do
	ok "a job over ssh starts" start -- "$T/bin/pworker" --do wait
	kill -9 "$pid"
	ok "kill -9 of dlaunch leaves nothing" none_left
	ok "a job over ssh starts" start -- "$T/bin/pworker" --do ignores
	kill -9 "$pid"
	ok "kill -9 of dlaunch leaves nothing that ignores SIGTERM" none_left
	ok "a job over ssh starts" start -- "$T/bin/pworker" --do wait
	kill -9 "$(shells | head -n 1)"
	ok "kill -9 of an ssh is a lost host" ends 75
	like "$T/err" '^dlaunch: host (one|two): went away' "the host whose ssh was killed is named"
	ok "kill -9 of an ssh leaves nothing" none_left
	ok "a job over ssh starts" start -- "$T/bin/pworker" --do wait
	kill -9 "$(parent "$(parent "$(head -n 1 "$STAND/pids")")")"
	ok "kill -9 of an agent: another one takes its processes over" \
		line_of "$T/err" '^dlaunch: host [a-z]*: another agent has taken its processes over$' 1
	kill -TERM "$pid"
	ok "the job ends with its status" ends 143
	is "$(grep stopped "$T/out" | sort | paste -sd,)" "worker 0 stopped,worker 1 stopped" "all workers end orderly"
	ok "a job of three agents leaves nothing" none_left
done
ok "a job over ssh starts" start -- "$T/bin/pworker" --do wait
kill -INT "$pid"
ok "SIGINT ends the job" ends 130
is "$(grep stopped "$T/out" | sort | paste -sd,)" "worker 0 stopped,worker 1 stopped" "SIGINT lets the workers end orderly"
ok "SIGINT leaves nothing" none_left
ok "a job over ssh starts" start -- --silence 1 "$T/bin/pworker" --do wait
shells | xargs kill -STOP
ok "a dead link is a lost host" ends 75
ok "a dead link leaves nothing on either side" none_left

# The real tools, MNIST over two hosts.
if [ -d "$DATA/mnist" ]; then
	im2rec "$DATA/mnist" --split test >"$T/test.rec"
	status 0 "two workers and two servers train over two hosts" sh -c 'cd "$1" && shift && exec "$@"' sh "$T" \
		dlaunch -v -H hosts --rsh "$rsh" -n 2 -s 2 --env TALLY_SHARE pworker --net lenet --data test.rec \
		--steps 40 --batch 32 --save m
	is "$(grep -cE '^(server|worker) +[01] +(one|two) .* exit status 0$' "$T/err")" 4 "all processes end with status 0"
	ok "one worker saves the weights" test -s "$T/m-0000-000040.safetensors"
else
	skip "MNIST over two hosts" "no $DATA/mnist"
fi

if ! netns_make a b; then
	skip "jobs over network namespaces" "no network namespaces: $(tail -n 1 "$T/netns")"
	done_testing
fi
ok "a host runs sshd in a namespace" sshd_start a 10.93.0.2 22 ip netns exec "$(netns_of a)"
ok "a second host runs sshd in a namespace" sshd_start b 10.93.0.3 22 ip netns exec "$(netns_of b)"
printf 'a\nb\n' >"$T/hosts"
ns() { netns_in switch "$@"; }
rm -rf "$STAND" && mkdir "$STAND"
status 0 "a job runs over hosts in two namespaces" \
	ns dlaunch -n 2 -s 2 -H "$T/hosts" --rsh "$rsh" --server-command "$T/bin/pserver" --env STAND \
	"$T/bin/pworker" --do hello
is "$(sort "$T/out" | head -n 1)" "worker 0 of 2, servers 10.93.0.2:1000,10.93.0.3:1001" "each server has its host's address"
is "$(ns dlaunch -H "$T/hosts" --rsh "$rsh" -n 2 -s 0 --interface eth0 -- sh -c 'echo $DMLC_NODE_HOST' | sort | paste -sd' ')" \
	"10.93.0.2 10.93.0.3" "--interface selects the address of a host"
# A cable is pulled: a host's, or the launcher's, so that all hosts are lost.
for ((i = 0; i < ${TIMES:-1}; i++)); do
	for case in "a ignores" "switch wait" "switch ignores"; do
		link=${case% *} what=${case#* }
		ok "a job over hosts in two namespaces starts" start ns -- --silence 1 --grace 1 "$T/bin/pworker" --do "$what"
		netns_link "$link" down
		ok "pulling the cable of $link leaves nothing on any side (processes: $what)" none_left
		ok "the pulled cable of $link is a lost host" ends 75
		like "$T/err" '^dlaunch: host [ab]: (silent|went away)' "the lost host is named"
		netns_link "$link" up
	done
done

# An outage that is shorter than --silence.  The ssh of the test's own configuration would give up after two seconds.
patient="ssh -F $T/ssh/config -o ServerAliveInterval=0 {host}"
# shellcheck disable=SC2034
rsh=$patient
for link in a switch; do
	# After the outage it may take half a minute until TCP repeats what was lost.
	ok "a job over hosts in two namespaces starts" start ns -- --grace 40 "$T/bin/pworker" --do wait
	netns_link "$link" down
	read -rt 12 <> <(:)
	netns_link "$link" up
	launcher=$pid	# or its parent, a shell
	[ "$(cat "/proc/$pid/comm")" = dlaunch ] || read -r launcher <"/proc/$pid/task/$pid/children"
	kill -TERM "$launcher"
	ok "a job whose cable of $link was pulled for 12 seconds loses no host" ends 143
	is "$(grep stopped "$T/out" | sort | paste -sd,)" "worker 0 stopped,worker 1 stopped" "the workers of that job end orderly"
	ok "a job with a pulled cable leaves nothing" none_left
done
export XDG_STATE_HOME=$T/state
rm -rf "$STAND" && mkdir "$STAND"
job=$(ns dlaunch --detach -H "$T/hosts" --rsh "$patient" -n 2 -s 2 --server-command "$T/bin/pserver" --env STAND \
	"$T/bin/pworker" --do wait)
err=$XDG_STATE_HOME/tally/jobs/$job/err
for n in 1 2; do
	netns_link a down
	ok "the launcher of a detached job notices outage $n" line_of "$err" '^dlaunch: waiting for host a: ' "$n"
	netns_link a up
	ok "the launcher connects again after outage $n" line_of "$err" '^dlaunch: host a: is back$' "$n"
done
status 0 "the detached job is stopped" ns dlaunch stop "$job"
is "$(grep stopped "$XDG_STATE_HOME/tally/jobs/$job/out" | sort | paste -sd,)" "worker 0 stopped,worker 1 stopped" \
	"the workers of the detached job end orderly"
ok "the detached job leaves nothing" none_left
done_testing
