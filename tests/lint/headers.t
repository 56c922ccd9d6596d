# headers.t - each header compiles by itself, and each folder of lib and cmd is introduced in one.
. "$TOP/tests/tap.sh"
cd "$TOP" || exit 1
for lua in lua5.4 lua-5.4 lua54 lua; do pkg-config --exists $lua && break; done
flags=$(pkg-config --cflags libarchive libturbojpeg libjpeg spng libdeflate libwebp libtiff-4 $lua jansson openssl)
finds() { echo "#include <$1>" | "${CC:-cc}" -E - >/dev/null 2>&1; }
is "$(find lib cmd -mindepth 1 -type d | while read -r folder; do
	grep -qE "(^|[ (])$folder([ .,:;]|$)" "$folder"/*.h || echo "$folder"
done)" "" "each folder of lib and cmd is introduced in one of its headers"
# x_in.h is the inside of x.  The headers of kernels are named as a group.
is "$(find lib cmd -mindepth 1 -type d ! -path lib/engine/cuda/kernel | while read -r folder; do
	first=$(grep -lE "(^|[ (])$folder([ .,:;]|$)" "$folder"/*.h | head -n 1)
	for h in "$folder"/*.h; do
		name=$(basename "$h" .h)
		[ "$name" != "${name%_in}" ] || sed '/\*\//q' "$first" | grep -qw "$name" || echo "$first: $name"
	done
done)" "" "the introduction of a folder names each of its headers"
for h in $(find lib cmd -name '*.h' | sort) tests/*.h; do
	case $h in
	# The bodies of device code are parts of kernel.h.
	*/cuda/kernel/kernel_*) continue ;;
	*/dnnl_*) finds dnnl.h || { skip "$h" "no oneDNN"; continue; } ;;
	*/cuda/device/*) ! grep -q '<cudnn\.h>' "$h" || finds cudnn.h || { skip "$h" "no cuDNN"; continue; } ;;
	esac
	printf '#include "%s"\ntypedef int alone;\n' "$(echo "$h" | sed 's,^\(lib\|cmd\)/,,')" >"$T/alone.c"
	# shellcheck disable=SC2086
	ok "$h" "${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -Ilib -Icmd -I. $flags -fsyntax-only "$T/alone.c"
done
done_testing
