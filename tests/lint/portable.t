# portable.t - files with functions for the instruction sets of x86-64 compile with those for other processors.
. "$TOP/tests/tap.sh"
cd "$TOP" || exit 1
for lua in lua5.4 lua-5.4 lua54 lua; do pkg-config --exists $lua && break; done
flags=$(pkg-config --cflags $lua libjpeg)
finds() { echo "#include <$1>" | "${CC:-cc}" -fopenmp -E - >/dev/null 2>&1; }
# Files that include isa.h, or a header that does.
headers=$(grep -lr --include='*.h' '"base/isa\.h"' lib | sed 's,^lib/\(.*\)\.h,\1,' | tr '\n' '|')
for c in $(grep -lrE --include='*.c' "\"(${headers}base/isa)\.h\"" lib | sort); do
	case $c in
	lib/engine/cpu/*) finds dnnl.h && finds omp.h || { skip "$c" "no oneDNN, or no OpenMP of this compiler"; continue; } ;;
	esac
	# shellcheck disable=SC2086
	ok "$c needs no instruction set of x86-64" \
		"${CC:-cc}" -std=c11 -D_GNU_SOURCE -DISA_PORTABLE -fopenmp -Wall -Wextra -Werror -Ilib $flags -fsyntax-only "$c"
done
done_testing
