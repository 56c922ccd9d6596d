# planted.t - the faults of tests/law/planted.sh still fit the tree, each at its place.
. "$TOP/tests/tap.sh"
cd "$TOP" || exit 1

unfit=
for patch in tests/law/planted/*.patch; do
	patch -s -p1 --dry-run --fuzz=0 <"$patch" >/dev/null 2>&1 || unfit="$unfit${patch##*/} "
done
is "$unfit" "" "each planted fault applies to the tree, without a line of its context missing"
done_testing
