#!/usr/bin/env bash
# planted.sh - plants each fault of tests/law/planted into a copy of the tree, and shows which test finds it.
#
#	tests/law/planted.sh [PATCH...]
#
# Prints a row for each fault: its name, the seed of the first job that shows it, and the claim that fails.  Exits with
# 1 if a fault is not found.  The tests pass without a fault first.  It takes minutes, and `make check` leaves it out.
TOP=$(cd "$(dirname "$0")/../.." && pwd)
COPY=$(mktemp -d "${TMPDIR:-/tmp}/tally.XXXXXX") || exit 1
trap 'rm -rf "$COPY"' EXIT
trap 'exit 143' TERM INT HUP
[ $# -gt 0 ] || set -- "$TOP"/tests/law/planted/*.patch
missed=0

# laws: builds and runs the tests; true if all pass, and else sets $claim and $seed.
laws() {
	make -s -j2 build/tests/law/{job,sync,slack,elastic}_test ${CC:+CC="$CC"} >log 2>&1 || { tail log >&2; exit 1; }
	for law in job sync slack elastic; do
		timeout 300 "build/tests/law/${law}_test" >out 2>&1 && continue
		claim=$(sed -n 's/^not ok [0-9]* - //p; s/^# seed [0-9]*: \(signal\)/\1/p' out | head -n 1)
		seed=$(sed -n 's/^# seed \([0-9]*\).*/\1/p' out | head -n 1)
		return 1
	done
}

cp -a "$TOP"/{lib,cmd,tests,share,Makefile,VERSION} "$COPY" && cd "$COPY" || exit 1
mkdir build && cp -a "$TOP"/build/{lib,libtally.a,found-*,made-for-*,cuda-for-*} build 2>/dev/null
laws || { echo "without a fault: seed $seed: $claim" >&2; exit 1; }
for patch; do
	name=$(basename "$patch" .patch)
	GIT_CEILING_DIRECTORIES=$(dirname "$PWD") git apply "$(cd "$TOP" && realpath "$patch")" || exit 1
	if laws; then
		printf '%-28s not found\n' "$name"
		missed=1
	else
		printf '%-28s seed %-4s %s\n' "$name" "$seed" "$claim"
	fi
	for file in $(sed -n 's,^+++ b/,,p' "$(cd "$TOP" && realpath "$patch")"); do
		cp "$TOP/$file" "$file"
	done
done
exit $missed
