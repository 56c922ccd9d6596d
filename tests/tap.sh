# tap.sh - the shell side of the tests: prints the Test Anything Protocol for prove.
#
#	. "$TOP/tests/tap.sh"          TOP is the repository, BUILD its build directory, PATH begins with it
#	ok NAME COMMAND...             runs the command; its output, or else its last file, is shown when it fails
#	is GOT WANT NAME               two texts
#	status WANT NAME COMMAND...    the exit status; stdout in $T/out, stderr in $T/err
#	like FILE PATTERN NAME         an extended regular expression found in a file
#	skip NAME WHY
#	tools; tool_sources TOOL       the names of the tools; the sources of one
#	done_testing
#
# $T is a fresh directory, removed at the end together with this shell's children.
set -u
: "${TOP:=$(cd "$(dirname "$0")/../.." && pwd)}" "${BUILD:=$TOP/build}"
case "$PATH" in "$BUILD":*) ;; *) PATH=$BUILD:$PATH ;; esac
export TOP BUILD PATH LC_ALL=C
DATA=${TALLY_DATA:-$TOP/../shared/data}
T=$(mktemp -d "${TMPDIR:-/tmp}/tally.XXXXXX") || { echo "Bail out!  no directory for temporary files"; exit 1; }
tap_run=0 tap_bad=0
trap 'rm -rf "$T"' EXIT
trap 'exit 143' TERM INT HUP

# The names of the tools, and the sources of one: cmd/TOOL/, or cmd/TOOL.c with cmd/TOOL_*.c.
tools() { grep -l '^main(' "$TOP"/cmd/*.c "$TOP"/cmd/*/main.c | sed 's,/main\.c$,,; s,\.c$,,; s,.*/,,' | sort; }
tool_sources() { find "$TOP/cmd" \( -path "$TOP/cmd/$1/*.c" -o -name "$1.c" -o -name "$1_*.c" \) -exec cat {} +; }

tap() { # STATUS NAME
	tap_run=$((tap_run + 1))
	if [ "$1" -eq 0 ]; then echo "ok $tap_run - $2"; else echo "not ok $tap_run - $2"; tap_bad=1; fi
}
# Why it failed, each line behind a #, and whole: a last one without its newline would take the next result's for its own.
tap_told() {
	tr -c '[:print:]\t\n' '?' | awk 'NR <= 60 { print "# " substr($0, 1, 2000) }
		END { if (NR > 60) print "# ... and " NR - 60 " lines" }'
}
# The end of what a command that says nothing of it has looked at: awk, grep -q.
tap_file() { [ -s "$T/.ok" ] || [ ! -s "$1" ] || [ ! -f "$1" ] || { echo "in $1:"; tail -n 30 "$1" | tail -c 6000; }; }
ok() {
	tap_name=$1; shift
	"$@" >"$T/.ok" 2>&1; tap_got=$?
	if [ $tap_got -eq 0 ]; then tap 0 "$tap_name"; else
		tap 1 "$tap_name"; { echo "exit status $tap_got: $*"; cat "$T/.ok"; tap_file "${!#}"; } | tap_told; fi
}
is() {
	if [ "$1" = "$2" ]; then tap 0 "$3"; else tap 1 "$3"; printf 'got:  %s\nwant: %s\n' "$1" "$2" | tap_told; fi
}
status() {
	tap_want=$1 tap_name=$2; shift 2
	"$@" >"$T/out" 2>"$T/err"; tap_got=$?
	if [ "$tap_got" -eq "$tap_want" ]; then tap 0 "$tap_name"; else
		tap 1 "$tap_name"; { echo "exit status $tap_got, want $tap_want: $*"; head -40 "$T/err"; } | tap_told; fi
}
like() {
	if grep -Eq -e "$2" "$1"; then tap 0 "$3"; else tap 1 "$3"; { echo "no line like $2 in:"; tail -40 "$1"; } | tap_told; fi
}
skip() { tap_run=$((tap_run + 1)); echo "ok $tap_run - $1 # SKIP $2"; }
done_testing() { echo "1..$tap_run"; exit "$tap_bad"; }
