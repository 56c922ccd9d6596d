# portable.t - what has functions for the instruction sets of x86-64 also compiles for other processors.
. "$TOP/tests/tap.sh"
cd "$TOP" || exit 1
for lua in lua5.4 lua-5.4 lua54 lua; do pkg-config --exists $lua && break; done
flags=$(pkg-config --cflags $lua)
finds() { echo "#include <$1>" | "${CC:-cc}" -E - >/dev/null 2>&1; }
for c in $(grep -lrE --include='*.c' '"(base/isa|engine/cpu/cpu_vec)\.h"' lib | sort); do
	case $c in
	lib/engine/cpu/*) finds dnnl.h || { skip "$c" "no oneDNN"; continue; } ;;
	esac
	# shellcheck disable=SC2086
	ok "$c" "${CC:-cc}" -std=c11 -D_GNU_SOURCE -DISA_PORTABLE -fopenmp -Wall -Wextra -Werror -Ilib $flags -fsyntax-only "$c"
done
done_testing
