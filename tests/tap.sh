# tap.sh - the shell side of the tests: prints the Test Anything Protocol for prove.
#
#	. "$TOP/tests/tap.sh"          TOP is the repository, BUILD its build directory, PATH begins with it
#	ok NAME COMMAND...             runs the command, its output is shown when it fails
#	is GOT WANT NAME               two texts
#	status WANT NAME COMMAND...    the exit status; stdout in $T/out, stderr in $T/err
#	like FILE PATTERN NAME         an extended regular expression found in a file
#	skip NAME WHY
#	done_testing
#
# $T is a fresh directory, removed at the end together with this shell's children.
set -u
: "${TOP:=$(cd "$(dirname "$0")/../.." && pwd)}" "${BUILD:=$TOP/build}"
case "$PATH" in "$BUILD":*) ;; *) PATH=$BUILD:$PATH ;; esac
export TOP BUILD PATH LC_ALL=C
DATA=${TALLY_DATA:-$TOP/../shared/data}
T=$(mktemp -d "${TMPDIR:-/tmp}/tally.XXXXXX")
tap_run=0 tap_bad=0
trap 'rm -rf "$T"' EXIT
trap 'exit 143' TERM INT HUP

tap() { # STATUS NAME
	tap_run=$((tap_run + 1))
	if [ "$1" -eq 0 ]; then echo "ok $tap_run - $2"; else echo "not ok $tap_run - $2"; tap_bad=1; fi
}
ok() {
	tap_name=$1; shift
	if "$@" >"$T/.ok" 2>&1; then tap 0 "$tap_name"; else tap 1 "$tap_name"; sed 's/^/# /' "$T/.ok" | head -40; fi
}
is() {
	if [ "$1" = "$2" ]; then tap 0 "$3"; else tap 1 "$3"; printf 'got:  %s\nwant: %s\n' "$1" "$2" | sed 's/^/# /'; fi
}
status() {
	tap_want=$1 tap_name=$2; shift 2
	"$@" >"$T/out" 2>"$T/err"; tap_got=$?
	if [ "$tap_got" -eq "$tap_want" ]; then tap 0 "$tap_name"; else
		tap 1 "$tap_name"; { echo "exit status $tap_got, want $tap_want: $*"; head -20 "$T/err"; } | sed 's/^/# /'; fi
}
like() {
	if grep -Eq -e "$2" "$1"; then tap 0 "$3"; else tap 1 "$3"; { echo "no line like $2 in:"; head -20 "$1"; } | sed 's/^/# /'; fi
}
skip() { tap_run=$((tap_run + 1)); echo "ok $tap_run - $1 # SKIP $2"; }
done_testing() { echo "1..$tap_run"; exit "$tap_bad"; }
