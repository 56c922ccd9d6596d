# files.t - each file says in its first line what it is, is short enough to be read, and is finished.
. "$TOP/tests/tap.sh"
cd "$TOP" || exit 1

code=$(find lib cmd tests share bench .ci -type f 2>/dev/null | grep -E '\.([ch]|cu|t|sh|lua|gp)$|/(run|setup|found)$' | sort)
text="$code Makefile README.md HACKING.md $(find man -type f 2>/dev/null)"

is "$(for f in $code; do
	stem=$(basename "$f" | sed 's/\.[a-z]*$//')
	case $f in
	tests/*_test.c) head -2 "$f" | tr '\n' ' ' | grep -Eq '^/\*[ *]*[A-Za-z]' && continue ;;
	esac
	head -3 "$f" | sed '1{/^#!/d}' | tr '\n' ' ' | grep -Eq "^(/\*[ *]*|# |-- )$stem(\.[a-z]+)? - " || echo "$f"
done)" "" "a first line: stem - what it is"
is "$(wc -l $code | awk '$1 > 500 && $2 != "total" { print $2 ": " $1 }')" "" "no file over 500 lines"
is "$(grep -nwE 'T''ODO|X''XX|F''IXME|H''ACK' $text)" "" "nothing is left for later"
is "$(grep -nE '[ 	]+$' $text | cut -c1-100)" "" "no blanks at the end of a line"
is "$(for f in $code; do
	expand -t 8 "$f" | awk -v f="$f" 'length($0) > 140 { print f ":" NR ": " length($0) }'
done)" "" "no line far over 100 columns"

if git rev-parse --git-dir >/dev/null 2>&1; then
	is "$(git ls-files | cut -d / -f 1 | sort -u | paste -sd' ')" \
		".ci .clang-format .gitignore HACKING.md LICENSE Makefile README.md bench cmd lib man share tests" \
		"nothing strange at the root"
else
	skip "nothing strange at the root" "not a git checkout"
fi
is "$(for f in tests/fuzz/fuzz_*.c; do
	s=$(basename "$f" .c)
	[ -n "$(ls "tests/fuzz/corpus/${s#fuzz_}" 2>/dev/null)" ] || echo "$f"
done)" "" "each fuzz target has a corpus"
is "$(for d in tests/fuzz/corpus/*/; do
	[ -e "tests/fuzz/fuzz_$(basename "$d").c" ] || echo "$d"
done)" "" "... and each corpus a target"
done_testing
