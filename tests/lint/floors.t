# floors.t - includes point down: a folder of lib/ includes itself and the folders before it in one order.
. "$TOP/tests/tap.sh"
cd "$TOP" || exit 1

order='base image tensor wire log source watch record dataset batch net engine ps train run'

floor() { # FOLDER: its place in the order
	echo "$order" | tr ' ' '\n' | grep -nx -- "$1" | cut -d : -f 1
}

is "$(ls lib | tr '\n' ' ')" "$(echo "$order" | tr ' ' '\n' | sort | tr '\n' ' ')" "the order names each folder of lib/"
for from in $order; do
	up=$(find "lib/$from" -name '*.[ch]' | xargs sed -n "s,^ *# *include \"\([^\"]*\)\".*,\1,p" | sort -u | while read -r to; do
		level=$(floor "${to%%/*}")
		[ -n "$level" ] && [ "$level" -le "$(floor "$from")" ] || echo "$to"
	done)
	is "$up" "" "lib/$from includes only what stands before it, by paths from lib/"
done

# A device or a version is chosen by the list of engines and by make, never in the middle of a function; what a compiler
# can do for an instruction set stands in one header.
is "$(grep -nE '^ *# *(if|ifdef|elif)\b' $(find lib cmd -name '*.[ch]' ! -path 'lib/engine/cuda/*') |
	grep -v '^lib/\(engine/engine.c\|base/isa.h\):')" "" "no #if outside lib/engine/engine.c and lib/base/isa.h"
is "$(for h in $(find lib cmd -name '*.h') tests/*.h; do
	[ -e "$h" ] || continue
	g=$(echo "${h#lib/}" | sed 's/\.h$/_H/; s,[/.-],_,g' | tr a-z A-Z)
	[ "$(grep -c "^#ifndef $g\$\|^#define $g\$" "$h")" = 2 ] || echo "$h: not guarded by $g"
done)" "" "each header is guarded by its name"
done_testing
