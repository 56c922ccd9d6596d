# tally.bash - completion of the tools' options in bash: what a tool's own help says it takes.
#
# A tool is asked once for --help and for the screens that this names (--help-data and so on); the answers are kept for
# the shell's life.  Words that are no options are completed as file names, the values of some as what they may be, and words that begin with @ as recipes.

_tally_options() { # TOOL: its options, a line each
	local screen
	{
		"$1" --help
		for screen in $("$1" --help | grep -oE -- '--help-[a-z]+' | sort -u); do
			"$1" "$screen"
		done
	} 2>/dev/null </dev/null | grep -oE -- '(^|[ ,|(])-(-[a-z][a-z0-9-]*|[A-Za-z])' | grep -oE -- '-.*' | sort -u
}

_tally() {
	local tool=$1 word=$2 before=$3 share
	local -n kept=_tally_kept_${1//[^a-z0-9]/_}

	case $before in
	--net)
		share=${TALLY_SHARE:-$(dirname "$(type -P "$tool")")/../share/tally}
		mapfile -t COMPREPLY < <(compgen -f -X '!*.lua' -- "$word"
			compgen -W "$(cd "$share/nets" 2>/dev/null && ls -- *.lua | sed 's/\.lua$//')" -- "$word")
		return ;;
	--optimizer)
		mapfile -t COMPREPLY < <(compgen -W 'sgd nesterov adam adamw rmsprop lars muon' -- "$word")
		return ;;
	--engine)
		mapfile -t COMPREPLY < <(compgen -W 'cpu ref' -- "$word")
		return ;;
	--log-style)
		mapfile -t COMPREPLY < <(compgen -W 'mxnet mxnet-2015 tensorflow' -- "$word")
		return ;;
	--split)
		[ "$tool" != im2rec ] || { mapfile -t COMPREPLY < <(compgen -W 'train test' -- "$word"); return; } ;;
	esac
	if [[ $word == @* ]] && { [ "$tool" = pworker ] || [ "$tool" = dlaunch ]; }; then
		mapfile -t COMPREPLY < <(compgen -P @ -W "$(pworker --recipes 2>/dev/null | cut -f 1)" -- "${word#@}"
			compgen -P @ -f -- "${word#@}")
		return
	fi
	# dlaunch and netstat-logging take a command behind their options.
	if [[ $word == -* ]]; then
		[ -n "${kept:-}" ] || kept=$(_tally_options "$tool")
		mapfile -t COMPREPLY < <(compgen -W "$kept" -- "$word")
	elif [ "$tool" = dlaunch ] || [ "$tool" = netstat-logging ]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	fi
}

complete -o filenames -F _tally im2rec pworker pserver pmerge dlaunch netstat-logging plog
