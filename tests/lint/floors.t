# floors.t - the order of folders: a folder of lib/ includes only itself and the folders before it.
. "$TOP/tests/tap.sh"
cd "$TOP" || exit 1

order='base image tensor wire log source watch record dataset batch net engine ps train run'

floor() { # FOLDER: its place in the order
	echo "$order" | tr ' ' '\n' | grep -nx -- "$1" | cut -d : -f 1
}

is "$(ls lib | tr '\n' ' ')" "$(echo "$order" | tr ' ' '\n' | sort | tr '\n' ' ')" "the order lists each folder of lib/"
for from in $order; do
	up=$(find "lib/$from" -type f | xargs sed -n 's,^[ \t]*#[ \t]*include[ \t]*\(["<]\)\([^">]*\)[">].*,\1 \2,p' | sort -u |
	while read -r mark to; do
		[ "$mark" = '"' ] || [ -e "lib/$to" ] || continue	# a header of the system
		level=$(floor "${to%%/*}")
		[ -n "$level" ] && [ "$level" -le "$(floor "$from")" ] || echo "$to"
	done)
	is "$up" "" "lib/$from includes only folders before it, by paths from lib/"
done

# The list of engines and make choose devices and versions, never code within a function.  One header knows what a
# compiler can do for an instruction set.
# Headers that nvcc reads too may ask which compiler reads them.
is "$(grep -nE '^[[:blank:]]*#[[:blank:]]*(if|ifdef|elif)\b' $(find lib cmd -type f) | grep -v '^lib/\(engine/engine.c\|base/isa.h\):' |
	grep -vE '^lib/engine/cuda/(device/device_in|kernel/kernel[a-z_]*)\.h:[0-9]+:#ifdef __(cplusplus|CUDACC__|CUDA_ARCH__)$')" "" \
	"no #if outside lib/engine/engine.c and lib/base/isa.h"
is "$(for h in $(find lib cmd -name '*.h') tests/*.h; do
	[ -e "$h" ] || continue
	g=$(echo "${h#lib/}" | sed 's/\.h$/_H/; s,[/.-],_,g' | tr a-z A-Z)
	[ "$(grep -c "^#ifndef $g\$\|^#define $g\$" "$h")" = 2 ] || echo "$h: not guarded by $g"
done)" "" "each header has an include guard named after its path"
done_testing
