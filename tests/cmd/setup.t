# setup.t - share/setup: package names on Debian, Ubuntu, Fedora, Arch and Alpine, and what it installs.
. "$TOP/tests/tap.sh"
cd "$TOP" || exit 1

# Stand-ins: $T/have lists installed packages, $T/archive those of the archive, $T/did the commands of apt-get.
mkdir "$T/bin"
for c in sh sed tr cut paste cat mktemp rm tail grep; do ln -s "$(command -v $c)" "$T/bin/$c"; done
stand_in() { printf '#!/bin/sh\n%s\n' "$2" >"$T/bin/$1"; chmod +x "$T/bin/$1"; }
stand_in id 'echo $USER_ID'
stand_in dpkg-query 'for p; do :; done; grep -qx "$p" "$HAVE" && echo "install ok installed"'
stand_in rpm 'for p; do :; done; grep -qx "$p" "$HAVE"'
stand_in pacman 'for p; do :; done; grep -qx "$p" "$HAVE"'
stand_in apk 'for p; do :; done; grep -qx "$p" "$HAVE"'
stand_in apt-cache 'echo asked >>"$ASKED"; for p; do ! grep -qx -- "$p" "$ARCHIVE" || echo "Package: $p"; done'
stand_in env 'while case $1 in *=*) ;; *) false ;; esac; do shift; done; exec "$@"'
stand_in apt-get 'echo "$*" >>"$DID"
case $* in *update) cp "$NEWS" "$ARCHIVE" ;; esac'
ln -s "$(command -v cp)" "$T/bin/cp"
export HAVE=$T/have ARCHIVE=$T/archive DID=$T/did ASKED=$T/asked NEWS=$T/news OS_RELEASE=$T/os-release USER_ID=1000
setup() { PATH=$T/bin share/setup "$@"; }
system() { printf '%s\n' "$@" >"$OS_RELEASE"; : >"$HAVE"; : >"$ARCHIVE"; rm -f "$DID" "$ASKED"; }
# one_line COMMAND...: its standard error is one line that holds no name with a |.
one_line() { [ "$(wc -l <"$T/err")" -eq 1 ] && ! grep -q '[a-z]|' "$T/err"; }

# Debian and Ubuntu: each line of the table has the name that the archive has.
system ID=debian
printf '%s\n' libjpeg62-turbo-dev libjpeg-dev pkgconf libclang-rt-dev gnuplot-nox libturbojpeg0-dev >"$ARCHIVE"
status 1 "a user who is not root installs nothing on Debian" setup test
ok "one line says what to type" one_line
like "$T/err" 'type: apt-get install gcc .*pkgconf .*libturbojpeg0-dev libjpeg-dev .*gnuplot-nox .*libclang-rt-dev' \
	"the line has Debian's names"
is "$(wc -l <"$ASKED")" 1 "the archive is asked once for all names"
system ID=ubuntu ID_LIKE=debian
printf '%s\n' libjpeg-dev pkg-config libclang-common-14-dev gnuplot libturbojpeg-dev >"$ARCHIVE"
status 1 "setup installs nothing on Ubuntu" setup test
like "$T/err" ' pkg-config .* libturbojpeg-dev libjpeg-dev .* gnuplot .* libclang-common-14-dev ' \
	"the line has the names of Ubuntu's archive"
printf '%s\n' pkg-config libjpeg62-turbo-dev >"$HAVE"
status 1 "setup looks for all names of a package" setup
ok "an installed alternative is not listed" sh -c '! grep -Eq "pkg-?conf|libjpeg" "$1"' sh "$T/err"
system ID=debian
USER_ID=0
printf '%s\n' pkg-config libjpeg-dev >"$T/news"
status 0 "root installs the packages" setup
is "$(sed 's/.*Timeout=300 //; s/install .*/install/' "$DID" | paste -sd' ')" "update install" \
	"apt-get updates its lists before it installs"
like "$DID" 'install --no-install-recommends gcc .* pkg-config .* libjpeg-dev' "the names come from the updated lists"
sed -n 's/.*--no-install-recommends //p' "$DID" | tr ' ' '\n' >"$HAVE"
rm "$DID"
status 0 "setup exits with 0 if all packages are installed" setup
ok "apt-get does not run again" test ! -e "$DID"
status 1 "--check fails if a package for tests is missing" setup --check test
like "$T/out" '^setup: missing: binutils clang ' "--check lists missing packages in one line"

# On other systems setup prints one command, or nothing if all packages are installed.
for s in 'fedora dnf install' 'arch pacman -S --needed' 'alpine apk add'; do
	command=${s#* }
	system "ID=${s%% *}"
	status 1 "${s%% *}: setup installs nothing" setup test
	like "$T/err" "type: $command( [a-z0-9.-]+)+\$" "${s%% *}: setup prints the command"
	sed -n "s/.*type: $command //p" "$T/err" | tr ' ' '\n' >"$HAVE"
	status 0 "${s%% *}: nothing is missing after the command" setup test
done
system ID=nobara 'ID_LIKE="rhel centos fedora"'
status 1 "setup installs nothing on a system like Fedora" setup
like "$T/err" "type: dnf install gcc " "a system like Fedora gets Fedora's command"
system ID=void
status 1 "setup fails on an unknown system" setup
ok "an unknown system gets one line, with Debian's names" one_line
is "$(sed -n '/^END/q; s/^\(run\|test\)	/&/p' share/setup | tr -s '\t' | awk -F '\t' 'NF != 5' | wc -l)" 0 "the table has five columns"
done_testing
