# headers.t - each header compiles alone.
. "$TOP/tests/tap.sh"
cd "$TOP" || exit 1
flags=$(pkg-config --cflags libarchive libturbojpeg libjpeg spng libdeflate libwebp lua5.4 jansson openssl)
for h in $(find lib cmd -name '*.h' | sort) tests/*.h; do
	case $h in
	# The bodies of device code are parts of kernel.h.
	*/cuda/kernel/kernel_*) continue ;;
	*/dnnl_*)
		if ! echo '#include <dnnl.h>' | "${CC:-cc}" -E - >/dev/null 2>&1; then
			skip "$h" "no oneDNN"
			continue
		fi ;;
	esac
	printf '#include "%s"\ntypedef int alone;\n' "$(echo "$h" | sed 's,^\(lib\|cmd\)/,,')" >"$T/alone.c"
	# shellcheck disable=SC2086
	ok "$h" "${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -Ilib -Icmd -I. $flags -fsyntax-only "$T/alone.c"
done
done_testing
