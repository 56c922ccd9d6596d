# planted.t - the faults of tests/law/planted.sh still fit the tree, each at its place.
. "$TOP/tests/tap.sh"
cd "$TOP" || exit 1
command -v git >/dev/null || { echo "1..0 # SKIP no git, which applies patches exactly"; exit 0; }

# Where the tree is no repository, git must not find one above it: it would leave out the files as not its own.
unfit=
for patch in tests/law/planted/*.patch; do
	GIT_CEILING_DIRECTORIES=${TOP%/*} git apply --check "$patch" 2>/dev/null || unfit="$unfit${patch##*/} "
done
is "$unfit" "" "each planted fault applies to the tree, without a line of its context missing"
missing=
for name in $(grep -v '^#' tests/law/planted/table | cut -f 2); do
	[ -e "tests/law/planted/$name.patch" ] || missing="$missing$name "
done
is "$missing" "" "each fault of tests/law/planted/table has its patches"
done_testing
