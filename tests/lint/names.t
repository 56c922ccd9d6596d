# names.t - exported names begin with their file's; the library does not print, exit or keep globals.
. "$TOP/tests/tap.sh"
cd "$BUILD" || exit 1

# The source for another version of a library has no object here.
objects=$(cd "$TOP" &&
	find lib -name '*.c' | sort | sed 's/c$/o/' | while read -r o; do [ -e "$BUILD/$o" ] && echo "$o"; done)
# A name begins with the file's stem or its first word, or is the table of an engine or of the module.
# shellcheck disable=SC2086
is "$(nm -A -g --defined-only $objects | awk '{
	file = $1
	sub(/:.*/, "", file)
	stem = file
	sub(/.*\//, "", stem)
	sub(/\.o$/, "", stem)
	word = stem
	sub(/_.*/, "", word)
	if ($NF !~ "^(" stem "|" word ")(_|$)" && $NF != "engine_" stem &&
	    file " " $NF != "lib/engine/cuda/module.o tally_cuda" && $NF !~ /^__/)
		print file, $NF
}')" "" "a file exports only names that begin with its stem or its stem's first word"
# shellcheck disable=SC2086
is "$(nm -A -u $objects | sed 's/@.*//' |
	grep -E ' (printf|__printf_chk|vprintf|puts|putchar|perror|stdout|stderr|exit|signal|sigaction)$')" "" \
	"the library does not print, exit or handle signals"
if [ -n "${SAN:-}" ]; then
	skip "the library has no globals" "a sanitizer adds globals"
else
	# shellcheck disable=SC2086
	is "$(size -A $objects | awk '
		/:$/ { file = $1 }
		$1 ~ /^\.(data|bss|tdata|tbss)$/ && $2 > 0 &&
			file !~ "^lib/(base/(err|isa)|image/img_tiff|wire/tls_shake|wire/path/ucx_load).o$" { print file, $1, $2 }')" "" \
		"the library has no globals except the error line, the instruction set, libtiff's handlers, UCX and OpenSSL's contexts"
fi
done_testing
