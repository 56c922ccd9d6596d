# killed - a job of 2 workers and 2 servers, for tests that kill them.  Needs tests/standin.sh.

# start NAME OPTION... -- ARGUMENT...: a job in the background, in which the servers have done $what; $pid is dlaunch.
what=holds
start() {
	local name=$1 options=()
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	: >"$T/err"
	dlaunch -n 2 -s 2 --env STAND --env TALLY_SHARE "${options[@]}" pworker "$@" --seed 7 --save "$T/$name" \
		>"$T/$name.log" 2>"$T/err" & pid=$!
	line_of "$T/err" "server .: pserver: $what" 2
}
# ends STATUS: the job ends with this status.
ends() {
	wait "$pid"
	local got=$?
	[ $got -eq "$1" ] || { echo "exit status $got, want $1"; tail -n 40 "$T/err"; return 1; }
}
