# manuals.t - pages are valid mdoc, and document the same options as the code and --help.
. "$TOP/tests/tap.sh"
cd "$TOP" || exit 1
[ -d man ] || { echo "1..0 # SKIP no pages"; exit 0; }
command -v mandoc >/dev/null || { echo "1..0 # SKIP no mandoc: share/setup test installs it"; exit 0; }

# The rendered text of a section, with blanks squeezed.
section() { # PAGE NAME
	mandoc -Tascii "$1" | sed 's/.\x08//g' | expand |
		awk -v s="$2" '/^[A-Z]/ { on = $0 == s; next } on' | tr -s ' \n' ' ' | sed 's/^ //; s/ $//'
}
# What a page sets as an option and is none, and prose that is set as code after a semicolon: a macro takes all words up to
# the next one.  The synopsis may join letters, as in -Pv.
set_wrong() { # PAGE
	mandoc -Thtml "$1" | tr -s '\n ' ' ' | sed 's/.*id="DESCRIPTION"//' |
		grep -oE '<code class="Fl">[^<]*|</code>; <code class="(Cm|Li)">[^<]* [^<]*' | sed 's/<[^>]*>//g' |
		grep -vE '^-(-[a-z][a-z0-9-]*|[A-Za-z0-9])$'
}
# All options in a text, one a line: --name and -x.
options() {
	grep -oE -- '(^|[^-A-Za-z0-9])-(-[a-z][a-z0-9-]*|[A-Za-z0-9])\b' | grep -oE -- '-(-[a-z][a-z0-9-]*|[A-Za-z0-9])$' | sort -u
}
in_code() { # TOOL
	tool_sources "$1" | awk '/struct [a-z_]*option [a-z_]*\[\]/ { on = 1 } /^};/ { on = 0 } on' |
		grep -o '{ *"[a-z0-9-]*"' | sed 's/{ *"/--/; s/"//'
	tool_sources "$1" | sed -n "s/.*{ *\"[a-z0-9-]*\".*\.letter = '\(.\)'.*/-\1/p"
	printf '%s\n' -h --help --version	# of all tools
}

printf '.Dd May 1, 2026\n.Dt T 1\n.Os\n.Sh DESCRIPTION\n.Fl \\-good , the same\n.Cm a ; read all\n.Fl v\n' >"$T/t.1"
is "$(set_wrong "$T/t.1")" "-the
-same
; read all" "prose after an option or a word is found"
is "$(find man -type f | grep -v '^man/[a-z0-9-]*\.[157]$')" "" "man holds only pages that are checked and installed"
for p in man/*.[157]; do
	# What it says of the name of the system and of pages that are not installed depends on the machine.
	ok "$p: mandoc -Tlint finds nothing" sh -c 'mandoc -Tlint "$1" 2>&1 |
		grep -v "operating system explicitly\|referenced manual not found\|outdated mandoc.db"; [ $? = 1 ]' sh "$p"
	# man(1) of many systems has groff, which takes some words in titles for macros.
	! command -v groff >/dev/null || is "$(groff -mandoc -Tutf8 "$p" 2>&1 >/dev/null)" "" "$p: groff says nothing"
	like "$p" '^\.Sh EXAMPLES' "$p has examples"
	# Ql quotes everything after it on its line, including what follows punctuation.
	is "$(mandoc -Tutf8 "$p" | sed 's/.\x08//g' | tr -s '\n ' ' ' |
		LC_ALL=C.UTF-8 grep -oE '‘[^’]*‘[^ ]*|’’|‘[a-z0-9-]+[,;] [^’]*’')" "" "$p has no nested or joined quotes"
	is "$(set_wrong "$p")" "" "$p sets no prose as code"
done

for t in $(tools); do
	p=man/$t.1
	ok "$t has a page" test -e "$p"
	[ -e "$p" ] || continue
	status 0 "$t --help" "$t" --help
	cp "$T/out" "$T/help"
	# The next prompt takes the last of 24 lines.
	ok "$t --help fits a screen" awk 'length > 80 || NR > 23 { exit 1 }' "$T/help"
	# The further screens that it names, one for each subject.
	for o in $(grep -oE -- '--help-[a-z]+' "$T/help" | sort -u); do
		status 0 "$t $o" "$t" "$o"
		ok "$t $o fits a screen" awk 'length > 80 || NR > 23 { exit 1 }' "$T/out"
		cat "$T/out" >>"$T/help"
	done
	in_code "$t" | sort -u >"$T/code"
	sed 1d "$T/help" | options >"$T/told"
	is "$(comm -23 "$T/code" "$T/told" | tr '\n' ' ')" "" "$t: --help lists every option of the code"
	is "$(comm -13 "$T/code" "$T/told" | tr '\n' ' ')" "" "$t: --help lists only options of the code"
	grep '^\.It ' "$p" | grep -oE 'Fl +[^ ]+' | sed 's/^Fl */-/; s/\\-/-/g' | sort -u >"$T/items"
	is "$(comm -23 "$T/code" "$T/items" | tr '\n' ' ')" "" "$t: the page documents every option of the code"
	is "$(comm -13 "$T/code" "$T/items" | tr '\n' ' ')" "" "$t: the page documents only options of the code"
	status 2 "$t refuses an unknown option with status 2" "$t" --no-such-option
	usage=$(awk '/^ ? ? ?-|^[^ ]/ && NR > 1 { exit } { print }' "$T/help" | sed 's/^usage: //' | tr -s ' \n' ' ' | sed 's/ $//')
	is "$(section "$p" SYNOPSIS)" "$usage" "$t: SYNOPSIS equals the usage line"
done

# The options that the script of a net reads are those in net(5) and in its own first lines.
for n in share/nets/*.lua; do
	net=$(basename "$n" .lua)
	[ "$net" != parts ] || continue
	{ grep -oE 'parts\.(number|whole|word|widths)\("[a-z-]+"' "$n" | sed 's/.*"\(.*\)"/--\1/'
	  grep -oE '\bopt\.[a-z]+' "$n" | sed 's/opt\./--/'
	  sed -n 's/.*parts\.depth(.*/--layers/p' "$n"; } | sort -u | tr '\n' ' ' >"$T/asked"
	awk -v net="$net" '/^\.Ss/ { on = 0 } /^\.It Cm/ { on = $3 == net } on' man/net.5 | grep -o '^\.Fl \\-[a-z-]*' |
		sed 's/.*\\-/--/' | sort -u | tr '\n' ' ' >"$T/told"
	is "$(cat "$T/told")" "$(cat "$T/asked")" "net(5) documents the options of $net"
	sed '/^--/!q' "$n" | grep -oE '(^|[ ;])--[a-z-]+' | grep -oE -- '--[a-z-]+' | grep -vx -- --shape | sort -u | tr '\n' ' ' >"$T/told"
	is "$(cat "$T/told")" "$(cat "$T/asked")" "the first lines of $net.lua list its options"
done

# What HACKING.md names exists.
is "$(grep -oE '`[a-z_0-9]+\(\)`' HACKING.md | tr -d '`()' | sort -u | while read -r name; do
	grep -rqw "$name" lib cmd tests bench || echo "$name"
done)" "" "HACKING.md names functions that exist"
is "$(grep -oE '`(lib|cmd|man|share|tests|bench)/[^`{* ]+`' HACKING.md | tr -d '`' | grep -v '[A-Z<]' | sort -u | while read -r path; do
	[ -e "$path" ] || echo "$path"
done)" "" "HACKING.md names files that exist"
is "$(grep -oE '`[^`]*--[a-z][a-z-]+[^`]*`' HACKING.md | grep -v '^`perf ' | grep -oE -- '--[a-z][a-z-]+' | sort -u |
	while read -r option; do
		grep -q "Fl .*\\\\-${option#--}\>" man/*.1 || echo "$option"
	done)" "" "HACKING.md names options that exist"

# Each short option has one long name in all tools.
is "$(for c in $(find cmd -name '*.c'); do
	awk '/struct [a-z_]*option [a-z_]*\[\]/ { on = 1 } /^};/ { on = 0 } on' "$c" |
		sed -n "s/.*{ *\"\([a-z0-9-]*\)\".*'\([A-Za-z0-9]\)' *}.*/\2 \1/p"
done | sort -u | awk 'seen[$1]++ { print $1 }')" "" "a short option means the same in all tools"
done_testing
