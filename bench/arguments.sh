# arguments.sh - for scripts of bench: where the tools are, variables from options `--NAME VALUE`, and medians.
TOP=$(cd "$(dirname "$0")/.." && pwd)
export BUILD=${BUILD:-$TOP/build} TALLY_SHARE=${TALLY_SHARE:-$TOP/share} LC_ALL=C OMP_NUM_THREADS=1
PATH=$BUILD:$PATH
# usage: prints the script's fourth line, which names its arguments, and ends the script.
usage() { sed -n '4s/^#	//p' "$0" >&2; exit 2; }
# arguments "NAME ..." [--NAME VALUE]...: sets the variables of these names.
arguments() {
	local names=" $1 "
	while [ $# -gt 1 ]; do
		[ $# -gt 2 ] && [ "$2" != "${2#--}" ] && [ "$names" != "${names/ ${2#--} /}" ] || usage
		declare -g "${2#--}=$3"
		shift 2
	done
}
. "$TOP/bench/median.sh"
