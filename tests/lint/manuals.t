# manuals.t - the pages are sound, and say of each tool what its code and its --help say.
. "$TOP/tests/tap.sh"
cd "$TOP" || exit 1
[ -d man ] || { echo "1..0 # SKIP no pages"; exit 0; }

# The section's text as a reader sees it, blanks squeezed.
section() { # PAGE NAME
	mandoc -Tascii "$1" | sed 's/.\x08//g' | expand |
		awk -v s="$2" '/^[A-Z]/ { on = $0 == s; next } on' | tr -s ' \n' ' ' | sed 's/^ //; s/ $//'
}
# Every option that a text names, one a line: --name and -x.
options() {
	grep -oE -- '(^|[^-A-Za-z0-9])-(-[a-z][a-z0-9-]*|[A-Za-z0-9])\b' | grep -oE -- '-(-[a-z][a-z0-9-]*|[A-Za-z0-9])$' | sort -u
}
in_code() { # TOOL
	tool_sources "$1" | awk '/struct option [a-z_]*\[\]/ { on = 1 } /^};/ { on = 0 } on' |
		grep -o '{ *"[a-z0-9-]*"' | sed 's/{ *"/--/; s/"//'
	tool_sources "$1" | tr '\n' ' ' | grep -oE '(getopt_long|front_option)\([^"]*"[^"]*"' |
		sed 's/.*"\([^"]*\)"$/\1/; s/[:+]//g' | grep -o . | sed 's/^/-/'
}

for p in man/*.[157]; do
	ok "$p: mandoc has nothing to say" sh -c 'out=$(mandoc -Tlint -Wwarning "$1" 2>&1); echo "$out"; [ -z "$out" ]' sh "$p"
	like "$p" '^\.Sh EXAMPLES' "$p: examples"
	# Ql quotes all that follows it on its line, and what stands behind punctuation there.
	is "$(mandoc -Tutf8 "$p" | sed 's/.\x08//g' | LC_ALL=C.UTF-8 grep -nE '‘[^’]*‘|’’')" "" "$p: no quotation within another"
done

for t in $(tools); do
	p=man/$t.1
	ok "$t has a page" test -e "$p"
	[ -e "$p" ] || continue
	status 0 "$t --help" "$t" --help
	cp "$T/out" "$T/help"
	ok "$t --help fits a screen" test "$(wc -l <"$T/help")" -le 25
	# Screens that it names, one for each theme.
	for o in $(grep -oE -- '--help-[a-z]+' "$T/help" | sort -u); do
		status 0 "$t $o" "$t" "$o"
		ok "$t $o fits a screen" test "$(wc -l <"$T/out")" -le 25
		cat "$T/out" >>"$T/help"
	done
	in_code "$t" | sort -u >"$T/code"
	sed 1d "$T/help" | options >"$T/told"
	is "$(comm -23 "$T/code" "$T/told" | tr '\n' ' ')" "" "$t: --help tells every option"
	is "$(comm -13 "$T/code" "$T/told" | tr '\n' ' ')" "" "$t: --help tells only options"
	grep '^\.It ' "$p" | grep -oE 'Fl +[^ ]+' | sed 's/^Fl */-/; s/\\-/-/g' | sort -u >"$T/items"
	is "$(comm -23 "$T/code" "$T/items" | tr '\n' ' ')" "" "$t: the page tells every option"
	is "$(comm -13 "$T/code" "$T/items" | tr '\n' ' ')" "" "$t: the page tells only options"
	status 2 "$t --no-such-option is a fault of the command line" "$t" --no-such-option
	usage=$(awk '/^ ? ? ?-|^[^ ]/ && NR > 1 { exit } { print }' "$T/help" | sed 's/^usage: //' | tr -s ' \n' ' ' | sed 's/ $//')
	is "$(section "$p" SYNOPSIS)" "$usage" "$t: SYNOPSIS is the usage line"
done

# What a net's script asks for is what net(5) and its own head say that it takes.
for n in share/nets/*.lua; do
	net=$(basename "$n" .lua)
	[ "$net" != parts ] || continue
	{ grep -oE 'parts\.(number|whole|word|widths)\("[a-z]+"' "$n" | sed 's/.*"\(.*\)"/--\1/'
	  grep -oE '\bopt\.[a-z]+' "$n" | sed 's/opt\./--/'
	  sed -n 's/.*parts\.depth(.*/--layers/p' "$n"; } | sort -u | tr '\n' ' ' >"$T/asked"
	awk -v net="$net" '/^\.Ss/ { on = 0 } /^\.It Cm/ { on = $3 == net } on' man/net.5 | grep -o '^\.Fl \\-[a-z]*' |
		sed 's/.*-/--/' | sort -u | tr '\n' ' ' >"$T/told"
	is "$(cat "$T/told")" "$(cat "$T/asked")" "net(5): the options of $net"
	sed '/^--/!q' "$n" | grep -oE '(^|[ ;])--[a-z]+' | grep -oE -- '--[a-z]+' | grep -vx -- --shape | sort -u | tr '\n' ' ' >"$T/told"
	is "$(cat "$T/told")" "$(cat "$T/asked")" "... and $net.lua's head"
done

# A letter stands for one long name, whatever the tool.
is "$(for c in $(find cmd -name '*.c'); do
	awk '/struct option [a-z_]*\[\]/ { on = 1 } /^};/ { on = 0 } on' "$c" |
		sed -n "s/.*{ *\"\([a-z0-9-]*\)\".*'\([A-Za-z0-9]\)' *}.*/\2 \1/p"
done | sort -u | awk 'seen[$1]++ { print $1 }')" "" "a letter means the same in all tools"
done_testing
