# floors.t - includes point down: a floor includes lower floors and itself, and neighbours do not know each other.
. "$TOP/tests/tap.sh"
cd "$TOP" || exit 1

floor() { # FOLDER
	case $1 in
	base) echo 0 ;;
	image | tensor | wire | run | log) echo 1 ;;
	source | watch) echo 2 ;;
	record) echo 3 ;;
	batch) echo 4 ;;
	net) echo 5 ;;
	engine) echo 6 ;;
	ps) echo 7 ;;
	esac
}

for d in lib/*/; do
	from=$(basename "$d")
	is "$(floor "$from" | grep -c .)" 1 "lib/$from has a floor"
	up=
	for f in "$d"*.[ch]; do
		for to in $(sed -n 's/^ *# *include "\([^"]*\)".*/\1/p' "$f"); do
			case $to in
			*/*) level=$(floor "${to%%/*}") ;;
			*) level= ;;
			esac
			if [ "${to%%/*}" != "$from" ] && { [ -z "$level" ] || [ "$level" -ge "$(floor "$from")" ]; }; then
				up="$up $f: $to"
			fi
		done
	done
	is "$up" "" "lib/$from includes only what is below it, and from lib/"
done

# A device or a version is chosen by the list of engines and by make, never in the middle of a function; what a compiler
# can do for an instruction set stands in one header.
is "$(grep -nE '^ *# *(if|ifdef|elif)\b' lib/*/*.[ch] cmd/*.[ch] |
	grep -v '^lib/\(engine/engine.c\|base/isa.h\):')" "" "no #if outside lib/engine/engine.c and lib/base/isa.h"
is "$(for h in lib/*/*.h cmd/*.h tests/*.h; do
	[ -e "$h" ] || continue
	g=$(echo "${h#lib/}" | sed 's/\.h$/_H/; s,[/.-],_,g' | tr a-z A-Z)
	[ "$(grep -c "^#ifndef $g\$\|^#define $g\$" "$h")" = 2 ] || echo "$h: not guarded by $g"
done)" "" "each header is guarded by its name"
done_testing
