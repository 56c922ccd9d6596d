# deb.t - the Debian package: its contents, its dependencies, and that its tools find their files.
. "$TOP/tests/tap.sh"
command -v dpkg-deb >/dev/null || { echo "1..0 # SKIP no dpkg-deb"; exit 0; }
[ -z "${SAN:-}" ] || { echo "1..0 # SKIP packages are not made of instrumented tools"; exit 0; }
cd "$TOP" || exit 1

mkdir "$T/build" && ln -s "$BUILD"/* "$T/build"	# the test removes what it builds
status 0 "share/deb builds the package" share/deb "$(cat VERSION)" "$T/build"
deb=$(cat "$T/out")
status 0 "dpkg-deb reads the package" dpkg-deb -I "$deb"
like "$T/out" '^ Depends: .*libarchive13.*libc6.*liblua5\.4' \
	"the package depends on the libraries that the tools are linked with"
mkdir "$T/root" && dpkg-deb -x "$deb" "$T/root"
for t in $(tools); do
	ok "$t of the package runs" env -u TALLY_SHARE "$T/root/usr/bin/$t" --version
	ok "the package has the page of $t" test -s "$T/root/usr/share/man/man1/$t.1.gz"
done
ok "pworker of the package finds its nets" env -u TALLY_SHARE "$T/root/usr/bin/pworker" --net resnet --layers 18 --print
is "$(PATH=$T/root/usr/bin:$PATH; unset TALLY_SHARE; . "$T/root/usr/share/bash-completion/completions/plog"
	COMP_WORDS=(pworker --net incep) COMP_CWORD=2; _tally
	printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd' ')" "inception inception-bn" \
		"completion of the package finds its words"
ok "the package has the license" cmp LICENSE "$T/root/usr/share/doc/tally/copyright"
is "$(find "$T/root" -newer LICENSE -type f -perm /022 | wc -l)" 0 "no file of the package is writable for others"
done_testing
