# setup.t - share/setup: the names of packages on Debian, Ubuntu, Fedora, Arch and Alpine, and what it installs.
. "$TOP/tests/tap.sh"
cd "$TOP" || exit 1

# Stand-ins: $T/have lists what is installed, $T/archive what the archive has, $T/did what was asked of apt-get.
mkdir "$T/bin"
for c in sh sed tr cut paste cat mktemp rm tail grep; do ln -s "$(command -v $c)" "$T/bin/$c"; done
stand_in() { printf '#!/bin/sh\n%s\n' "$2" >"$T/bin/$1"; chmod +x "$T/bin/$1"; }
stand_in id 'echo $USER_ID'
stand_in dpkg-query 'for p; do :; done; grep -qx "$p" "$HAVE" && echo "install ok installed"'
stand_in rpm 'for p; do :; done; grep -qx "$p" "$HAVE"'
stand_in pacman 'for p; do :; done; grep -qx "$p" "$HAVE"'
stand_in apk 'for p; do :; done; grep -qx "$p" "$HAVE"'
stand_in apt-cache 'for p; do :; done; grep -qx "$p" "$ARCHIVE" && echo "Package: $p"'
stand_in env 'while case $1 in *=*) ;; *) false ;; esac; do shift; done; exec "$@"'
stand_in apt-get 'echo "$*" >>"$DID"
case $* in *update) cp "$NEWS" "$ARCHIVE" ;; esac'
ln -s "$(command -v cp)" "$T/bin/cp"
export HAVE=$T/have ARCHIVE=$T/archive DID=$T/did NEWS=$T/news OS_RELEASE=$T/os-release USER_ID=1000
setup() { PATH=$T/bin share/setup "$@"; }
system() { printf '%s\n' "$@" >"$OS_RELEASE"; : >"$HAVE"; : >"$ARCHIVE"; rm -f "$DID"; }
# one_line COMMAND...: its standard error is one line that holds no name with a |.
one_line() { [ "$(wc -l <"$T/err")" -eq 1 ] && ! grep -q '[a-z]|' "$T/err"; }

# Debian and Ubuntu: each line of the table by the name that the archive has.
system ID=debian
printf '%s\n' libjpeg62-turbo-dev libjpeg-dev pkgconf libclang-rt-dev gnuplot-nox libturbojpeg0-dev >"$ARCHIVE"
status 1 "Debian, not root: nothing is installed" setup test
ok "... one line says what to type" one_line
like "$T/err" 'type: apt-get install gcc .*pkgconf .*libturbojpeg0-dev libjpeg-dev .*gnuplot-nox .*libclang-rt-dev' "... by Debian's names"
system ID=ubuntu ID_LIKE=debian
printf '%s\n' libjpeg-dev pkg-config libclang-common-14-dev gnuplot libturbojpeg-dev >"$ARCHIVE"
status 1 "an Ubuntu that has other names" setup test
like "$T/err" ' pkg-config .* libturbojpeg-dev libjpeg-dev .* gnuplot .* libclang-common-14-dev ' "... is asked for those"
printf '%s\n' pkg-config libjpeg62-turbo-dev >"$HAVE"
status 1 "any of a line's names will do where it is installed" setup
ok "... and is not asked for" sh -c '! grep -Eq "pkg-?conf|libjpeg" "$1"' sh "$T/err"
system ID=debian
USER_ID=0
printf '%s\n' pkg-config libjpeg-dev >"$T/news"
status 0 "as root the packages are installed" setup
is "$(sed 's/.*Timeout=300 //; s/install .*/install/' "$DID" | paste -sd' ')" "update install" "... after the archive's lists"
like "$DID" 'install --no-install-recommends gcc .* pkg-config .* libjpeg-dev' "... from which the names are chosen"
sed -n 's/.*--no-install-recommends //p' "$DID" | tr ' ' '\n' >"$HAVE"
rm "$DID"
status 0 "once all are there" setup
ok "... nothing is done" test ! -e "$DID"
status 1 "--check tells what the tests need" setup --check test
like "$T/out" '^setup: missing: binutils clang ' "... in one line"

# Elsewhere one command, and nothing once all are there.
for s in 'fedora dnf install' 'arch pacman -S --needed' 'alpine apk add'; do
	command=${s#* }
	system "ID=${s%% *}"
	status 1 "${s%% *}: nothing is installed" setup test
	like "$T/err" "type: $command( [a-z0-9.-]+)+\$" "... the command to type"
	sed -n "s/.*type: $command //p" "$T/err" | tr ' ' '\n' >"$HAVE"
	status 0 "... after which nothing is missing" setup test
done
system ID=nobara 'ID_LIKE="rhel centos fedora"'
status 1 "a system like Fedora" setup
like "$T/err" "type: dnf install gcc " "... is one"
system ID=void
status 1 "an unknown system" setup
ok "... one line, by Debian's names" one_line
is "$(sed -n '/^END/q; s/^\(run\|test\)	/&/p' share/setup | tr -s '\t' | awk -F '\t' 'NF != 5' | wc -l)" 0 "the table has five columns"
done_testing
