# names.t - one noun, one file, one prefix; and what the library keeps its hands off.
. "$TOP/tests/tap.sh"
cd "$BUILD" || exit 1

# An engine for another version of its library has no object here.
objects=$(cd "$TOP" &&
	find lib -name '*.c' ! -path 'lib/engine/cuda/*' | sort | sed 's/c$/o/' | while read -r o; do [ -e "$BUILD/$o" ] && echo "$o"; done)
# The stem, or its first word; an engine's table is the one name that lib/engine/engine.c lists.
# shellcheck disable=SC2086
is "$(nm -A -g --defined-only $objects | awk '{
	file = $1
	sub(/:.*/, "", file)
	stem = file
	sub(/.*\//, "", stem)
	sub(/\.o$/, "", stem)
	word = stem
	sub(/_.*/, "", word)
	if ($NF !~ "^(" stem "|" word ")(_|$)" && $NF != "engine_" stem && $NF !~ /^__/)
		print file, $NF
}')" "" "a file exports names that begin with its stem, or its stem's first word"
# shellcheck disable=SC2086
is "$(nm -A -u $objects | sed 's/@.*//' |
	grep -E ' (printf|__printf_chk|vprintf|puts|putchar|perror|stdout|stderr|exit|signal|sigaction)$')" "" \
	"the library does not print, exit or handle signals"
if [ -n "${SAN:-}" ]; then
	skip "the library keeps nothing in globals" "a sanitizer keeps its own"
else
	# shellcheck disable=SC2086
	is "$(size -A $objects | awk '
		/:$/ { file = $1 }
		$1 ~ /^\.(data|bss|tdata|tbss)$/ && $2 > 0 && file !~ "^lib/base/(err|isa).o$" { print file, $1, $2 }')" "" \
		"the library keeps nothing in globals but the error line and the instruction set"
fi
done_testing
