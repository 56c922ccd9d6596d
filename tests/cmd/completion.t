# completion.t - shells complete what each tool's tables of options and words have, and nothing else.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
. "$TOP/share/completion/tally.bash"

# Options of the tables in a tool's sources, with + behind those that take something.
table() { # TOOL
	tool_sources "$1" |
		sed -n 's/^	{ "\([a-z0-9-]*\)", required_argument,.*/--\1 +/p; s/^	{ "\([a-z0-9-]*\)", no_argument,.*/--\1/p' | sort -u
}
words() {
	sh "$TOP/share/completion/words" "$@"
}
offers() { # LINE: what bash offers where the line ends; = and @ stand alone, as bash has them
	local -a COMP_WORDS
	read -r -a COMP_WORDS <<<"$(sed 's/[=:@]/ & /g' <<<"$1")"
	[ "${1% }" = "$1" ] || COMP_WORDS+=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
	_tally "${COMP_WORDS[0]}"
	printf '%s\n' "${COMPREPLY[@]}" | sort -u | tr '\n' ' '
}
for t in $(tools); do
	words "$t" - | grep '^--' | sort -u >offered
	is "$(table "$t" | sed 's/ +//' | comm -3 - offered | tr -d '\n')" "" "$t: its options are offered, and no others"
	is "$(table "$t" | comm -3 - <(words --table "$t" |
		awk '{ print $1 ($3 == "-" ? "" : " +") }' | sort -u) | tr -d '\n')" "" "$t: help tells which of them take something"
done

# What the help has for words, and where a word that is none is refused by its name.
all=0
tried() { # TOOL OPTION [WORD ...]: the command line with each word that is offered, and then with none such
	local tool=$1 option=$2 bad= w
	shift 2
	for w in $(words "$tool" "$option" ''); do
		all=$((all + 1))
		"$tool" "$option" "$w" "$@" >out 2>&1 </dev/null
		grep -qE "^$tool: .*$w.* is (neither|none|not)" out && bad="$bad $w"
	done
	is "${bad:-}" "" "$tool $option: $(words "$tool" "$option" '' | paste -sd' ') are words of it"
	"$tool" "$option" none-such "$@" >out 2>&1 </dev/null
	like out "^$tool: .*none-such.* is (neither|none|not)" "... and others are not"
}
: >empty.tsv
tried dlaunch --on-fail -P true
tried plog --format empty.tsv
tried plog --figures empty.tsv
tried netstat-logging --count true
tried im2rec --split empty.tsv
tried im2rec --color empty.tsv
tried im2rec --encoding empty.tsv
tried im2rec --inter-method empty.tsv
tried pmerge --to empty.tsv
tried pworker --optimizer --net mlp --print
tried pworker --log-style --net mlp --print
tried pworker --dtype --net mlp --print
tried pworker --on-nan --net mlp --print
tried pworker --cache --net mlp --print
tried pworker --lr-scale --net mlp --print
is "$all" $(($(for t in dlaunch im2rec netstat-logging plog pmerge pserver pworker; do words --table "$t"; done | awk '
	$1 == "--engine" || $1 == "--rsh" { next }
	{ if ($4 != "-") n += split($4, w, "|"); else if ($3 ~ /^[a-z0-9].*[|]/) n += split($3, w, "|") } END { print n }'))) \
	"all options of words are here"
pworker --net mlp --data empty.tsv --shape 1x28x28 --engine none-such >out 2>&1
is "$(sed -n 's/.*there are: //p' out | tr -d ' ' | tr , '\n' | sort | comm -23 - <(words pworker --engine '' | sort))" "" \
	"engines that are built in are among the words"
is "$(words pworker --engine '' | sort | paste -sd,)" cpu,cuda,ref "... which are those of any build"
for w in $(words dlaunch --rsh ''); do
	dlaunch -P --rsh "$w" -H - true <<<far >out
	like out '^# far: [a-z]+ .*far.*/dlaunch --agent' "--rsh $w is known"
done

is "$(offers 'pworker --mom')" '--momentum ' "bash: a beginning"
is "$(offers 'pworker --net incep')" "inception inception-bn " "a net"
is "$(offers 'pworker --optimizer=ada')" "adam adamw " "a value behind ="
is "$(offers 'plog --figures loss,t')" "loss,time loss,traffic " "a value of a list"
is "$(offers 'pworker @mnist-elu')" "@mnist-elu @mnist-elu-async @mnist-elu-momentum @mnist-elu-sync " "a recipe"
is "$(offers 'dlaunch @local-m')" "@local-mlp " "dlaunch too"
is "$(offers 'dlaunch -n 2 -x A=b:c pworker --dtype b')" "bf16 " "the command of a job has its own"
is "$(offers 'dlaunch -n 2 --on-fail ')" "stop wait " "a value of two"
is "$(offers 'dlaunch atta')" "attach " "a verb"
is "$(offers 'dlaunch ps')" "pserver " "no command but a tool of tally where no option stands in front"
is "$(offers 'netstat-logging -i l')" "lo " "an interface, behind a letter"
rm -f o* && touch one.rec two.rec && mkdir over
is "$(offers 'pworker --data o')" "one.rec over " "a file"
is "$(offers 'dlaunch --output o')" "over " "a folder"
is "$(offers 'pworker --steps o')" " " "a number is not guessed"
XDG_STATE_HOME=$T/state dlaunch --detach --job late-one true >/dev/null
is "$(XDG_STATE_HOME=$T/state offers 'dlaunch attach la')" "late-one " "a job"
XDG_STATE_HOME=$T/state dlaunch attach late-one

if ! command -v zsh >/dev/null; then
	skip "zsh offers the same" "no zsh"
	done_testing
	exit
fi
# A zsh at a terminal of its own; its own widget tells what completion adds.
cat >tab.zsh <<'END'
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PROMPT=; fpath=($TOP/share/completion $fpath); autoload -Uz compinit; compinit -u -D
compadd () {
	local -a hits
	if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
	builtin compadd -A hits "$@"
	(( $#hits )) && print -rl -- "<"${^hits}">"
	builtin compadd "$@"
}
zle -C tell complete-word tell
tell() { _main_complete; compstate[insert]=; compstate[list]=; print -r -- "<e""nd>" }
bindkey "^I" tell; print -r -- "<e""nd>"'
zpty -r z out $'*<end>*'
for line in "$@"; do
	zpty -w -n z $'\C-U'"$line"$'\t'
	zpty -r z out $'*<end>*'
	print -r -- "${out//[$'\r\n']/ }"
done
zpty -d z
END
zsh -f tab.zsh 'pworker --mom' 'pworker --net incep' 'pworker --optimizer=ada' 'plog --figures loss,t' 'pworker @mnist-elu' \
	'dlaunch -n 2 -x A=b:c pworker --dtype b' 'dlaunch -n 2 --on-fail ' 'netstat-logging -i l' 'pworker --data o' 'dlaunch --output o' \
	'pworker --steps o' | while read -r line; do
	grep -oE '<[^<>]+>' <<<"$line" | tr -d '<>' | grep -vx end | sort -u | paste -sd' '
done >got
is "$(cat got)" "--momentum
inception inception-bn
adam adamw
loss,time loss,traffic
@mnist-elu @mnist-elu-async @mnist-elu-momentum @mnist-elu-sync
bf16
stop wait
lo
one.rec over
over" "zsh offers the same"
done_testing
