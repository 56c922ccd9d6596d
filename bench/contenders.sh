# contenders.sh - for scripts of bench: commands that take turns.
#
# A contender writes "ready ..." once it has started.  For each line with a number of steps that it reads it writes one line
# with their times.  It ends at the end of its input.
hz=$(getconf CLK_TCK) cores=$(getconf _NPROCESSORS_ONLN)
dir=$(mktemp -d)
pids=() names=()

# start NAME COMMAND...: sets $ready to what the contender writes after "ready".  If it fails to start, a line says so, and
# $ready and the list of contenders stay as they are.  It waits on fd in_NAME and answers on fd out_NAME.  Its process is
# pid_NAME, and a turn takes steps_NAME steps.
start() {
	local name=$1 word rest pid in out
	shift
	rm -f "$dir/$name.in" "$dir/$name.out"
	mkfifo "$dir/$name.in" "$dir/$name.out"
	"$@" <"$dir/$name.in" >"$dir/$name.out" 2>"$dir/$name.err" &
	pid=$!
	exec {in}>"$dir/$name.in" {out}<"$dir/$name.out"
	if ! read -r word rest <&"$out" || [ "$word" != ready ]; then
		echo "$name: left out: $(grep . "$dir/$name.err" | tail -n 1)" >&2
		exec {in}>&- {out}<&-
		wait "$pid" || true
		return 0
	fi
	ready=$rest
	pids+=("$pid")
	names+=("$name")
	printf -v "in_$name" %s "$in"
	printf -v "out_$name" %s "$out"
	printf -v "pid_$name" %s "$pid"
	printf -v "steps_$name" %s 1
}

# run_steps NAME: sets $times to those of a turn of this contender.
run_steps() {
	local in=in_$1 out=out_$1 steps=steps_$1
	echo "${!steps}" >&"${!in}"
	read -r times <&"${!out}" || { echo "${0##*/}: $1 ended: $(tail -n 1 "$dir/$1.err")" >&2; exit 1; }
}

# stop: ends all contenders.
stop() {
	local n
	for n in "${names[@]}"; do
		local in=in_$n out=out_$n
		eval "exec ${!in}>&- ${!out}<&-"
	done
	[ ${#pids[@]} = 0 ] || wait "${pids[@]}" 2>/dev/null || true
	pids=() names=()
}
trap 'kill $(jobs -p) 2>/dev/null || true; stop; rm -rf "$dir"' EXIT

# busy: jiffies that programs used on all processors, and other guests of the machine, without interrupts, as those of the
# loopback are nobody's.
busy() { awk '/^cpu / { print $2 + $3 + $4 + $9 }' /proc/stat; }
# used PID: jiffies that a process and its children used.
used() {
	local pid
	for pid in "$1" $(pgrep -P "$1"); do sed 's/.*) //' "/proc/$pid/stat"; done 2>/dev/null |
		awk '{ n += $12 + $13 } END { print n + 0 }'
}
