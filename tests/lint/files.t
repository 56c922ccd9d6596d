# files.t - each file states in its first line what it is, is short, and is finished.
. "$TOP/tests/tap.sh"
cd "$TOP" || exit 1

# Everything in lib and cmd, elsewhere what has the name or the first line of a program; the rest is data.
code=$({
	find lib cmd share/completion -type f ! -name '*.map' ! -path share/completion/words
	find tests share bench .ci -type f ! -path 'tests/fuzz/corpus/*' 2>/dev/null |
		grep -E '\.([ch]|cu|cuh|hpp|inc|t|sh|lua|gp|pl|py)$|^[^.]*$' | LC_ALL=C xargs awk \
		'FNR == 1 && (/^#!/ || FILENAME ~ /\.[a-z]+$/) { print FILENAME } { nextfile }'
} | sort -u)
text="$code Makefile README.md CHANGELOG.md HACKING.md $(find man -type f 2>/dev/null)"

is "$(awk '
	function check_first_line() {
		stem = name
		sub(/.*\//, "", stem); sub(/\.[a-z]*$/, "", stem)
		if (name ~ /^tests\/.*_test\.c$/ && top ~ /^\/\*[ *]*[A-Za-z]/) return
		if (name ~ /\.py$/ && top ~ /^"""[A-Z]/) return
		if (top !~ "^(/\\*[ *]*|# |-- )" stem "(\\.[a-z]+)?( [][A-Z_. ]+)?( -|:) ") print name
	}
	FNR == 1 { if (name != "") check_first_line(); name = FILENAME; top = "" }
	FNR <= 3 && !(FNR == 1 && /^#(!|compdef)/) { top = top $0 " " }
	END { check_first_line() }' $code)" "" "each file begins with: stem - what it is"
is "$(wc -l $code | awk '$1 > 500 && $2 != "total" { print $2 ": " $1 }')" "" "no file has over 500 lines"
is "$(grep -nwE 'T''ODO|X''XX|F''IXME|H''ACK' $text)" "" "no file has a mark of unfinished work"
is "$(grep -nE '[ 	]+$' $text | cut -c1-100)" "" "no line ends with a blank"
is "$(awk '{
		wide = 0	# a tab goes to the next multiple of 8
		for (; (i = index($0, "\t")) > 0; $0 = substr($0, i + 1)) wide += i + 7 - (wide + i - 1) % 8
		if (wide + length($0) > 140) print FILENAME ":" FNR ": " wide + length($0)
	}' $(echo "$code" | grep -E '\.([^p].*|pl)$|/(run|setup|found|installed|dist|results|reproduce|speed)$'))" "" \
	"no line of a test, script or program is over 140 columns"

if git rev-parse --git-dir >/dev/null 2>&1; then
	is "$(git ls-files -s | grep '^120000' | cut -f 2)" "" "no file is a link"
	is "$(git ls-files | grep '[[:blank:]]')" "" "no file name has a blank"
	is "$(git ls-files 'tests/*_test.c' | grep -vE '^tests/(lib|op|law|golden|gpu)/' )$(
		git ls-files 'tests/*.t' | grep -vE '^tests/(op|cmd|flow|golden|lint|peers)/')" "" \
		"each test stands where make looks for it"
	is "$(git ls-files | cut -d / -f 1 | sort -u | paste -sd' ')" \
		"$(echo .ci .clang-format .gitignore CHANGELOG.md HACKING.md LICENSE Makefile README.md RESULTS.md VERSION \
			bench cmd lib man share tests)" \
		"the root holds only known files"
else
	for what in "no file is a link" "no file name has a blank" "each test stands where make looks for it" \
		"the root holds only known files"; do
		skip "$what" "not a git checkout"
	done
fi
is "$(for f in tests/fuzz/fuzz_*.c; do
	s=$(basename "$f" .c)
	[ -n "$(ls "tests/fuzz/corpus/${s#fuzz_}" 2>/dev/null)" ] || echo "$f"
done)" "" "each fuzz target has a corpus"
is "$(for d in tests/fuzz/corpus/*/; do
	[ -e "tests/fuzz/fuzz_$(basename "$d").c" ] || echo "$d"
done)" "" "each corpus has a fuzz target"
done_testing
