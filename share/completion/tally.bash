# tally.bash - completion of the tools' command lines in bash: asks `words` what may stand there.

_tally_words=$(dirname "${BASH_SOURCE[0]}")
[ -e "$_tally_words/words" ] || _tally_words+=/../../tally/completion
_tally_words+=/words

_tally() {
	local -a words=()
	local i line word glue=

	# Bash takes words apart at =, : and @; "--name=value" is to be two.
	for ((i = 0; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		case $word in
		= | :)
			if [[ $word == = && ${words[-1]} == --* && -z $glue ]]; then
				[ $i -lt $COMP_CWORD ] || words+=('')
			else
				words[-1]+=$word
				glue=yes
			fi ;;
		*)
			if [ -n "$glue" ]; then
				words[-1]+=$word
			else
				words+=("$word")
			fi
			glue=
			[ "$word" != @ ] || glue=yes ;;
		esac
	done
	word=${words[-1]}
	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		:files)	mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$word") ;;
		:files\ * | :only\ *)
			mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(
				found=$(for suffix in ${line#:* }; do compgen -f -X "!*$suffix" -- "$word"; done)
				if [ -n "$found" ]; then
					echo "$found"
				elif [[ $line == :files* ]]; then
					compgen -f -- "$word"
				fi
				compgen -d -- "$word") ;;
		:folders) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$word") ;;
		:commands) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -c -- "$word") ;;
		"$word"*) COMPREPLY+=("$line") ;;
		esac
	done < <(sh "$_tally_words" "${words[@]}")
	# Bash replaces only what follows the last colon.
	[[ $word != *:* || $COMP_WORDBREAKS != *:* ]] || COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*:}"}"}")
	# Bash would quote the @ of a file's name.
	[[ $word != @* ]] || compopt +o filenames 2>/dev/null
}

complete -o filenames -F _tally im2rec pworker pserver pmerge dlaunch netstat-logging plog
