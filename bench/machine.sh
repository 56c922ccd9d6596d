# machine.sh - for scripts of bench: what their tables say of the machine and the tree, and how other programs start.

# The model of the processors and their number.
machine_of() {
	local cpu
	cpu=$(awk -F': *' '/^cpu family/ { family = $2 } /^model\t/ { model = $2 }
	    /^model name/ { print $2 (family == "" ? "" : ", family " family " model " model); exit }' /proc/cpuinfo 2>/dev/null) || :
	echo "${cpu:-$(uname -m)} x $(nproc --all)"
}

# The commit of the tree, with + if there are changes that are not committed, but for those of results and of TABLE, an
# absolute path or nothing; - if it has none.
commit_of() { # TOP [TABLE]
	local commit table=${2:-}
	commit=$(git -C "$1" rev-parse --short HEAD 2>/dev/null) || { echo -; return; }
	case $table in
	"$1"/*) table=":!${table#"$1"/}" ;;
	*) table='' ;;
	esac
	[ -z "$(git -C "$1" status --porcelain -- . ':!bench/*.tsv' ':!bench/results*.svg' ':!RESULTS.md' ${table:+"$table"})" ] ||
		commit=$commit+
	echo "$commit"
}

# The start of another program's command: it gets huge pages, for which tally asks itself (PyTorch, and the C library).
# shellcheck disable=SC2034
huge_pages=(env THP_MEM_ALLOC_ENABLE=1 GLIBC_TUNABLES=glibc.malloc.hugetlb=1)
