# deb_root.t - the Debian package in a bare Debian: installation with its dependencies, use, and removal.
#
# Needs root, Debian's archive, some minutes, and TALLY_ROOT: a tar of a bare system of this release, made by
#	mmdebstrap --variant=apt "$(. /etc/os-release; echo "$VERSION_CODENAME")" root.tar
. "$TOP/tests/tap.sh"
[ -n "${TALLY_ROOT:-}" ] || { echo "1..0 # SKIP TALLY_ROOT names no tar of a bare Debian"; exit 0; }
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP not root"; exit 0; }
[ -z "${SAN:-}" ] || { echo "1..0 # SKIP packages are not made of instrumented tools"; exit 0; }
cd "$TOP" || exit 1

mkdir "$T/build" && ln -s "$BUILD"/* "$T/build"	# the test removes what it builds
status 0 "share/deb builds the package" share/deb "$(cat VERSION)" "$T/build"
deb=$(cat "$T/out")
mkdir "$T/root" && tar xf "$TALLY_ROOT" -C "$T/root" || exit 1
cp "$deb" "$T/root/root/tally.deb"
for f in /etc/resolv.conf /etc/hosts /etc/apt/apt.conf.d /etc/apt/sources.list.d; do
	rm -rf "$T/root$f" && cp -rL "$f" "$T/root$f"
done
# in_root COMMAND...: runs a command in the root, with mounts that end with it.
in_root() {
	unshare --mount sh -c 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"' "$T/root" \
		env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}
# All paths except the state of apt and dpkg.
paths() { (cd "$T/root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./tmp -o -path ./var/cache \) -prune -o -print | sort); }

status 0 "apt-get reads the archive" in_root apt-get -qq update
status 100 "the package is refused without its dependencies" \
	in_root apt-get -qq install --no-download -y /root/tally.deb
needs=$(dpkg-deb -f "$deb" Depends | sed 's/([^)]*)//g; s/,/ /g')
# shellcheck disable=SC2086
status 0 "the archive has the dependencies" in_root apt-get -qq install -y --no-install-recommends $needs
paths >"$T/before"
status 0 "dpkg installs the package" in_root dpkg -i /root/tally.deb
paths >"$T/with"
ok "the package installs $(comm -13 "$T/before" "$T/with" | wc -l) paths" grep -q '^./usr/bin/dlaunch$' "$T/with"
for t in im2rec pworker pserver pmerge dlaunch netstat-logging plog; do
	status 0 "$t runs" in_root $t --version
done
# 60 images in CIFAR-10's format; the class is the brightness.
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
status 0 "the installed tools pack images and train" in_root sh /root/try.sh
is "$(awk 'NR > 1 { print $1 }' "$T/out" | paste -sd,)" "0,1" "plog shows two epochs"
rm "$T/root/root/try.sh"
status 0 "dpkg removes the package" in_root dpkg -P tally
is "$(paths | comm -3 "$T/before" -)" "" "no path of the package is left"
done_testing
