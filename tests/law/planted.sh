#!/usr/bin/env bash
# planted.sh - plants each fault of tests/law/planted into a copy of the tree, and shows which test finds it.
#
#	tests/law/planted.sh [--part I/N] [PATCH...]
#
# Prints a row for each fault: its name, the seed of the first job that shows it, and the claim that fails.  Exits with
# 1 if a fault is not found within 1,000 seeds of any test.  The tests pass without a fault first.  It takes minutes,
# and `make check` leaves it out.  --part 2/3 plants the second of every three; the parts may run at the same time.
# tests/law/planted/table says which patches stand for which fault.
TOP=$(cd "$(dirname "$0")/../.." && pwd)
COPY=$(mktemp -d "${TMPDIR:-/tmp}/tally.XXXXXX") || exit 1
trap 'rm -rf "$COPY"' EXIT
trap 'exit 143' TERM INT HUP
part=1 parts=1
if [[ ${1:-} == --part ]]; then
	[[ ${2:-} =~ ^([1-9][0-9]*)/([1-9][0-9]*)$ ]] || { echo "usage: planted.sh [--part I/N] [PATCH...]" >&2; exit 2; }
	part=${BASH_REMATCH[1]} parts=${BASH_REMATCH[2]}
	shift 2
fi
[ $# -gt 0 ] || set -- "$TOP"/tests/law/planted/*.patch
missed=0 n=0

# laws: builds and runs the tests, which have up to 1,000 seeds; true if all pass, and else sets $claim and $seed.
laws() {
	local seeds
	for law in job sync slack elastic backup; do
		make -s -j2 "build/tests/law/${law}_test" ${CC:+CC="$CC"} >log 2>&1 || { tail log >&2; exit 1; }
		[ $law = job ] && seeds="--seeds 1-1000" || seeds=
		# shellcheck disable=SC2086
		timeout 600 "build/tests/law/${law}_test" $seeds >out 2>&1 && continue
		claim=$(sed -n 's/^not ok [0-9]* - //p; s/^# seed [0-9]*: \(signal\)/\1/p' out | head -n 1)
		seed=$(sed -n 's/^# seed \([0-9]*\).*/\1/p' out | head -n 1)
		return 1
	done
}

cp -a "$TOP"/{lib,cmd,tests,share,Makefile,VERSION} "$COPY" && cd "$COPY" || exit 1
mkdir build && cp -a "$TOP"/build/{lib,libtally.a,found-*,made-for-*,cuda-for-*} build 2>/dev/null
laws || { echo "without a fault: seed $seed: $claim" >&2; exit 1; }
for patch; do
	[ $((n++ % parts)) -eq $((part - 1)) ] || continue
	patch=$(cd "$TOP" && realpath "$patch") name=$(basename "$patch" .patch)
	GIT_CEILING_DIRECTORIES=$(dirname "$PWD") git apply "$patch" || exit 1
	if laws; then
		printf '%-40s not found\n' "$name"
		missed=1
	else
		printf '%-40s %-7s seed %-4s %s\n' "$name" "$law" "$seed" "$claim"
	fi
	GIT_CEILING_DIRECTORIES=$(dirname "$PWD") git apply -R "$patch" || exit 1
done
exit $missed
