# deb.t - the Debian package: what is in it, what it needs, and that the tools find their files in it.
. "$TOP/tests/tap.sh"
command -v dpkg-deb >/dev/null || { echo "1..0 # SKIP no dpkg-deb"; exit 0; }
[ -z "${SAN:-}" ] || { echo "1..0 # SKIP packages are not made of instrumented tools"; exit 0; }
cd "$TOP" || exit 1

mkdir "$T/build" && ln -s "$BUILD"/* "$T/build"	# so that what is made goes away with the test
status 0 "it is made" share/deb "$(cat VERSION)" "$T/build"
deb=$(cat "$T/out")
status 0 "it can be read" dpkg-deb -I "$deb"
like "$T/out" '^ Depends: .*libarchive13.*libc6.*liblua5\.4' "it needs the libraries that the tools are linked with"
mkdir "$T/root" && dpkg-deb -x "$deb" "$T/root"
for t in $(tools); do
	ok "$t is in it, and runs" env -u TALLY_SHARE "$T/root/usr/bin/$t" --version
	ok "... with its page" test -s "$T/root/usr/share/man/man1/$t.1.gz"
done
ok "nets are found" env -u TALLY_SHARE "$T/root/usr/bin/pworker" --net resnet --layers 18 --print
is "$(PATH=$T/root/usr/bin:$PATH; unset TALLY_SHARE; . "$T/root/usr/share/bash-completion/completions/plog"
	COMP_WORDS=(pworker --net incep) COMP_CWORD=2; _tally
	printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd' ')" "inception inception-bn" "completions find their words"
ok "the license is in it" cmp LICENSE "$T/root/usr/share/doc/tally/copyright"
is "$(find "$T/root" -newer LICENSE -type f -perm /022 | wc -l)" 0 "nobody else may write its files"
done_testing
