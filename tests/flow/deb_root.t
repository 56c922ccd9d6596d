# deb_root.t - the Debian package in a bare Debian: it installs with what it depends on, works, and leaves nothing behind.
#
# Needs root, the archive of Debian, minutes, and TALLY_ROOT: a tar of a bare system of this release, once made by
#	mmdebstrap --variant=apt "$(. /etc/os-release; echo "$VERSION_CODENAME")" root.tar
. "$TOP/tests/tap.sh"
[ -n "${TALLY_ROOT:-}" ] || { echo "1..0 # SKIP TALLY_ROOT names no tar of a bare Debian"; exit 0; }
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP not root"; exit 0; }
[ -z "${SAN:-}" ] || { echo "1..0 # SKIP packages are not made of instrumented tools"; exit 0; }
cd "$TOP" || exit 1

mkdir "$T/build" && ln -s "$BUILD"/* "$T/build"	# so that what is made goes away with the test
status 0 "the package is made" share/deb "$(cat VERSION)" "$T/build"
deb=$(cat "$T/out")
mkdir "$T/root" && tar xf "$TALLY_ROOT" -C "$T/root" || exit 1
cp "$deb" "$T/root/root/tally.deb"
for f in /etc/resolv.conf /etc/hosts /etc/apt/apt.conf.d /etc/apt/sources.list.d; do
	rm -rf "$T/root$f" && cp -rL "$f" "$T/root$f"
done
# in_root COMMAND...: there, with what is mounted gone at its end.
in_root() {
	unshare --mount sh -c 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"' "$T/root" \
		env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}
# Every path there is, but for what the archive's tools keep of their own.
paths() { (cd "$T/root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./tmp -o -path ./var/cache \) -prune -o -print | sort); }

status 0 "the archive is reached" in_root apt-get -qq update
status 100 "without what it depends on it is not installed" in_root apt-get -qq install --no-download -y /root/tally.deb
needs=$(dpkg-deb -f "$deb" Depends | sed 's/([^)]*)//g; s/,/ /g')
# shellcheck disable=SC2086
status 0 "that is in the archive" in_root apt-get -qq install -y --no-install-recommends $needs
paths >"$T/before"
status 0 "it is installed" in_root dpkg -i /root/tally.deb
paths >"$T/with"
ok "... $(comm -13 "$T/before" "$T/with" | wc -l) paths of it" grep -q '^./usr/bin/dlaunch$' "$T/with"
for t in im2rec pworker pserver pmerge dlaunch netstat-logging plog; do
	status 0 "$t runs" in_root $t --version
done
# 60 pictures of CIFAR-10's format: the class is how bright the picture is.
cat >"$T/root/root/try.sh" <<'END'
set -e
mkdir /root/try
cd /root/try
perl -e 'srand 1; for $i (0..59) { print chr($i % 10), map { chr(int($i % 10 * 25 + rand 6)) } 1..3072 }' >data_batch_1.bin
im2rec data_batch_1.bin -o train.rec
dlaunch -n 2 -s 2 pworker --net lenet --shape 3x28x28 --data train.rec --batch 10 --epochs 2 --save m >train.tsv
pmerge m-0002.safetensors -o m.params
plog train.tsv
rm -r /root/try
END
status 0 "pictures become weights" in_root sh /root/try.sh
is "$(awk 'NR > 1 { print $1 }' "$T/out" | paste -sd,)" "0,1" "... in two epochs"
rm "$T/root/root/try.sh"
status 0 "it is removed" in_root dpkg -P tally
is "$(paths | comm -3 "$T/before" -)" "" "... and nothing of it is left"
done_testing
