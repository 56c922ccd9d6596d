# names.t - one noun, one file, one prefix; and what the library keeps its hands off.
. "$TOP/tests/tap.sh"
cd "$BUILD" || exit 1

sources=$(cd "$TOP" && ls lib/*/*.c)
wrong='' talk='' state=''
for c in $sources; do
	o=${c%.c}.o
	[ -e "$o" ] || continue		# an engine for another version of its library
	stem=$(basename "$c" .c)
	for s in $(nm -g --defined-only "$o" | awk 'NF == 3 { print $3 }' | grep -v '^__'); do
		case $s in
		"$stem" | "$stem"_* | "${stem%%_*}" | "${stem%%_*}"_*) ;;
		engine_"$stem") ;;	# an engine's table, the one name that lib/engine/engine.c lists
		*) wrong="$wrong $c:$s" ;;
		esac
	done
	for s in $(nm -u "$o" | awk '{ print $2 }' | sed 's/@.*//'); do
		case $s in
		printf | __printf_chk | vprintf | puts | putchar | perror | stdout | stderr | exit | signal | sigaction)
			talk="$talk $c:$s" ;;
		esac
	done
	n=$(size -A "$o" | awk '$1 ~ /^\.(data|bss|tdata|tbss)$/ { n += $2 } END { print n + 0 }')
	[ "$n" -eq 0 ] || [ "$stem" = err ] || state="$state $c:$n"
done
is "$wrong" "" "a file exports names that begin with its stem, or its stem's first word"
is "$talk" "" "the library does not print, exit or handle signals"
if [ -n "${SAN:-}" ]; then
	skip "the library keeps nothing in globals" "a sanitizer keeps its own"
else
	is "$state" "" "the library keeps nothing in globals but the error line"
fi
done_testing
