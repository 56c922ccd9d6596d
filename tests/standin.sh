# standin.sh - a pserver and a pworker of a few lines of shell, for tests of who starts and ends what.
#
# After tap.sh.  $T/bin/pserver listens on nothing, keeps the rules of a server
# for dlaunch, and ends when every worker has said good-bye through a fifo.
# $T/bin/pworker does what its own arguments say: see below.
mkdir "$T/bin" "$T/stand"
export STAND=$T/stand

cat >"$T/bin/pserver" <<'EOF'
#!/bin/bash
while [ $# -gt 0 ]; do
	case $1 in
	--listen) host=${2%:*} ;;
	--workers) workers=$2 ;;
	--server) rank=${2%/*} ;;
	--key-file) read -r key <"$2" ;;
	--ready-fd) ready=$2 ;;
	esac
	shift
done
[ ${#key} -eq 64 ] || exit 9
echo "$key" >"$STAND/key.server$rank"
echo $$ >>"$STAND/pids"
port=$((1000 + rank))
mkfifo "$STAND/$port"
exec {fifo}<>"$STAND/$port"	# a number that no other file has
echo "$host:$port" >&"$ready"
eval "exec $ready>&-"
echo "listening" >&2
for ((i = 0; i < workers; i++)); do read -r bye <&"$fifo"; done
EOF

cat >"$T/bin/pworker" <<'EOF'
#!/bin/bash
echo $$ >>"$STAND/pids"
while [ $# -gt 0 ]; do
	case $1 in
	--do) what=$2 arg=$3; shift ;;
	--servers) servers=$2 ;;
	--worker) rank=${2%/*} of=${2#*/} ;;
	--key-file) read -r key <"$2"; echo "$key" >"$STAND/key.worker$rank" ;;
	esac
	shift
done
bye() { for s in ${servers//,/ }; do echo "$rank" 1<>"$STAND/${s##*:}"; done; }
case $what in
hello)	echo "worker $rank of $of, servers $servers"; echo "well" >&2; bye ;;
wait)	# until SIGTERM, then orderly
	trap 'echo "worker $rank stopped"; bye; exit 0' TERM
	sleep 1000 & echo $! >>"$STAND/pids"
	echo "worker $rank waits"
	wait; wait ;;
dies)	# of SIGTERM
	sleep 1000 & echo $! >>"$STAND/pids"
	echo "worker $rank waits"
	wait ;;
ignores)	# SIGTERM, too
	trap '' TERM
	sleep 1000 & echo $! >>"$STAND/pids"
	echo "worker $rank waits"
	wait; wait ;;
fail)	# worker 0 with a status, the others wait for its end
	[ "$rank" != 0 ] || exit "$arg"
	exec sleep 1000 ;;
late)	# worker 1 fails with a status once a word comes, the others wait
	[ "$rank" = 1 ] || { echo "worker $rank waits"; exec sleep 1000; }
	read -r x <"$STAND/go"; exit "$arg" ;;
peer)	# a server is killed, and so a peer lost for a worker
	[ "$rank" = 0 ] || exec sleep 1000
	kill -9 "$(head -n 1 "$STAND/pids")"; exit 75 ;;
print)	# $arg lines of 100 bytes
	for ((i = 0; i < arg; i++)); do printf '%d\t%-97.97s\n' "$rank" "$i"; done; bye ;;
env)	printf '%s\n' "${!arg-unset}"; bye ;;
esac
EOF
chmod +x "$T/bin/pserver" "$T/bin/pworker"

# job OPTION... -- WHAT [ARG]: runs dlaunch over the stand-ins.
job() {
	local options=()
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	rm -rf "$STAND" && mkdir "$STAND"
	dlaunch --server-command "$T/bin/pserver" --env STAND "${options[@]}" "$T/bin/pworker" --do "$@"
}
# Which of the stand-ins live.
living() {
	local p
	sort -u "$STAND/pids" 2>/dev/null | while read -r p; do
		[ ! -e "/proc/$p" ] || grep -q '^State:.Z' "/proc/$p/status" 2>/dev/null || echo "$p"
	done
}
# parent PID: the process that it is a child of.
parent() { sed -n 's/^PPid:[[:space:]]*//p' "/proc/$1/status"; }
# What should end and does not is there for ever, or for the minute of a silence: so long a machine may be busy
# with other things.
SOON=25
# none_left [SECONDS]: they are all gone, within that time.
none_left() {
	local until=$((SECONDS + ${1:-$SOON}))
	while [ -n "$(living)" ]; do
		[ $SECONDS -lt $until ] || { ps -o pid,ppid,stat,args -p "$(living | paste -sd,)"; return 1; }
		read -rt 0.1 <> <(:) || :
	done
}
# line_of FILE PATTERN N [PID]: N lines with the pattern come within a minute, and while the process lives.
line_of() {
	local until=$((SECONDS + 60))
	while ! [ "$(grep -c "$2" "$1" 2>/dev/null)" -ge "$3" ] 2>/dev/null; do
		if [ $SECONDS -ge $until ] || ! kill -0 "${4:-$$}"; then
			echo "not $3 lines of '$2' in $1:"
			cat "$1"
			return 1
		fi
		read -rt 0.05 <> <(:) || :
	done
}
# Processes of the real tools that were started with --env STAND.  It starts none of its own for each process of the
# machine, so a short job does not end before.
really_living() {
	local p comm words
	for p in /proc/[0-9]*; do
		{ read -r comm <"$p/comm"; } 2>/dev/null || continue
		[ "$comm" = pworker ] || [ "$comm" = pserver ] || continue
		{ mapfile -d '' words <"$p/environ"; } 2>/dev/null || continue
		case " ${words[*]} " in *" STAND=$STAND "*) echo "${p#/proc/}" ;; esac
	done
}
# real_process --worker|--server RANK: the one of them with this rank, in a job of two.
real_process() {
	local p words
	for p in $(really_living); do
		{ mapfile -d '' words <"/proc/$p/cmdline"; } 2>/dev/null || continue
		case " ${words[*]} " in *" $1 $2/2 "*) echo "$p" ;; esac
	done
}
really_none_left() {
	local until=$((SECONDS + ${1:-$SOON}))
	while [ -n "$(really_living)" ]; do
		[ $SECONDS -lt $until ] || { ps -o pid,ppid,stat,args -p "$(really_living | paste -sd,)"; return 1; }
		read -rt 0.1 <> <(:) || :
	done
}
# bright_records N: $T/train.rec, N pictures of 32x32 in ten classes, which are how bright a picture is.
bright_records() {
	mkdir "$T/c" || return
	perl -e 'srand 1; for $i (0..$ARGV[0] - 1) { print chr($i % 10), map { chr(int($i % 10 * 25 + rand 6)) } 1..3072 }' "$1" \
		>"$T/c/data_batch_1.bin" && im2rec "$T/c/data_batch_1.bin" -o "$T/train.rec" 2>"$T/im2rec.err"
}
