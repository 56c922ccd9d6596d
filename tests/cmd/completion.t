# completion.t - shells complete the options and words of each tool's tables, and nothing else.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
. "$TOP/share/completion/tally.bash"

# The options of the tables in a tool's sources; + follows those with an argument.
table() { # TOOL
	{
		tool_sources "$1" |
			sed -nE 's/^	\{ "([a-z0-9-]*)", (FRONT|PWORKER)_(FLAG|SET|HELP|ACTION),.*/--\1/p
				t
				s/^	\{ "([a-z0-9-]*)", (FRONT|PWORKER)_[A-Z]*,.*/--\1 +/p'
		printf '%s\n' --help --version
	} | sort -u
}
words() {
	sh "$TOP/share/completion/words" "$@"
}
offers() { # LINE: what bash offers at its end; = and @ are words, as bash splits them
	local -a COMP_WORDS
	read -r -a COMP_WORDS <<<"$(sed 's/[=:@]/ & /g' <<<"$1")"
	[ "${1% }" = "$1" ] || COMP_WORDS+=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
	_tally "${COMP_WORDS[0]}"
	printf '%s\n' "${COMPREPLY[@]}" | sort -u | tr '\n' ' '
}
for t in $(tools); do
	words "$t" - | grep '^--' | sort -u >offered
	is "$(table "$t" | sed 's/ +//' | comm -3 - offered | tr -d '\n')" "" "$t: exactly its options are completed"
	is "$(table "$t" | comm -3 - <(words --table "$t" |
		awk '{ print $1 ($3 == "-" ? "" : " +") }' | sort -u) | tr -d '\n')" "" \
			"$t: --help shows which options have an argument"
done

# Words that the help lists; a tool refuses an unknown word by its name.
all=0
tried() { # TOOL OPTION [WORD ...]: runs the command line with each word that is offered, then with an unknown one
	local tool=$1 option=$2 bad= w
	shift 2
	for w in $(words "$tool" "$option" ''); do
		all=$((all + 1))
		"$tool" "$option" "$w" "$@" >out 2>&1 </dev/null
		grep -qE "^$tool: .*$w.*( is (neither|none|not)|.*: choose )" out && bad="$bad $w"
	done
	is "${bad:-}" "" "$tool $option: $(words "$tool" "$option" '' | paste -sd' ') are its words"
	"$tool" "$option" none-such "$@" >out 2>&1 </dev/null
	like out "^$tool: .*none-such.*( is (neither|none|not)|.*: choose )" "$tool $option: other words are refused"
}
: >empty.tsv
tried dlaunch --on-fail -P true
tried plog --format empty.tsv
tried plog --figures empty.tsv
tried netstat-logging --count true
tried im2rec --split empty.tsv
tried im2rec --color empty.tsv
tried im2rec --crop-rounding empty.tsv
tried im2rec --encoding empty.tsv
tried im2rec --inter-method empty.tsv
tried pmerge --to empty.tsv
tried pworker --optimizer --net mlp --print
tried pworker --log-style --net mlp --print
tried pworker --dtype --net mlp --print
tried pworker --loss --net mlp --print
tried pworker --on-nan --net mlp --print
tried pworker --cache --net mlp --print
tried pworker --codec --net mlp --print
tried pworker --lr-scale --net mlp --print
is "$all" $(($(for t in dlaunch im2rec netstat-logging plog pmerge pserver pworker; do words --table "$t"; done | awk '
	$1 == "--balance" || $1 == "--engine" || $1 == "--rsh" { next }
	{ if ($4 != "-") n += split($4, w, "|"); else if ($3 ~ /^[a-z0-9].*[|]/) n += split($3, w, "|") } END { print n }'))) \
	"all options with words were tried"
pworker --net mlp --data empty.tsv --shape 1x28x28 --engine none-such >out 2>&1
is "$(sed -n 's/.*choose from //p' out | tr -d ' ' | tr , '\n' | sort | comm -23 - <(words pworker --engine '' | sort))" "" \
	"the words of --engine include the engines of this build"
is "$(words pworker --engine '' | sort | paste -sd,)" cpu,cuda,ref "the words of --engine are the engines of any build"
for w in $(words dlaunch --rsh ''); do
	dlaunch -P --rsh "$w" -H - true <<<far >out
	like out '^# far: [a-z]+ .*far.*/dlaunch --agent' "dlaunch accepts --rsh $w"
done

is "$(offers 'pworker --mom')" '--momentum ' "bash completes an option"
is "$(offers 'pworker --net incep')" "inception inception-bn " "bash completes a net"
is "$(offers 'pworker --optimizer=ada')" "adam adamw " "bash completes a value after ="
is "$(offers 'plog --figures loss,t')" "loss,time loss,traffic " "bash completes a value of a list"
is "$(offers 'pworker @mnist-elu')" "@mnist-elu @mnist-elu-async @mnist-elu-momentum @mnist-elu-sync " \
	"bash completes a recipe"
is "$(offers 'dlaunch @local-m')" "@local-mlp " "bash completes a recipe of dlaunch"
is "$(offers 'dlaunch -n 2 -x A=b:c pworker --dtype b')" "bf16 " "bash completes the options of a job's command"
is "$(offers 'dlaunch -n 2 --on-fail ')" "stop wait " "bash completes one of two values"
is "$(offers 'dlaunch atta')" "attach " "bash completes a verb"
is "$(offers 'dlaunch ps')" "pserver " "bash completes only tools of tally as dlaunch's first word"
is "$(offers 'netstat-logging -i l')" "lo " "bash completes an interface after a short option"
rm -f o* && touch one.rec two.rec old.txt && mkdir over
is "$(offers 'pworker --data o')" "one.rec over " "bash completes a file of the kind that the option reads, and folders"
is "$(offers 'pworker --mean o')" "old.txt one.rec over " "bash completes any file if there is none of that kind"
is "$(offers 'plog o')" "old.txt one.rec over " "bash completes any file as an operand"
touch w.safetensors w.txt
is "$(offers 'pworker --resume w')$(offers 'pworker --predict w')" "w.safetensors w.safetensors " "bash completes weights"
is "$(offers 'pworker --net resnet --sho')" "--shortcuts " "bash completes an option of the net"
is "$(offers 'pworker --net=mlp --dropo')" "--dropout " "bash completes an option of the net after --net=NAME"
is "$(offers 'pworker --net pa')" " " "the file that nets share is no net"
printf -- '-- --oddity N\nreturn 1\n' >own.lua
is "$(offers 'pworker --net ./own.lua --od')" "--oddity " "bash completes an option of a script of your own"
is "$(offers 'pworker --net resnet --variant ')" "post preact small " "bash completes the words of an option of the net"
is "$(rm -f own.lua; offers 'pworker --net=one')" " " "after --net= it offers only scripts"
is "$(offers 'pmerge --rename from:torch-res')" "torch-resnet " "bash completes a table of names after its colon"
touch log.tsv
is "$(offers 'plog l') $(offers 'im2rec --list o') $(offers 'pmerge w') $(offers 'pworker --start w')" \
	"log.tsv  one.rec over  w.safetensors  w.safetensors " "bash completes operands of the kind that the tool reads"
is "$(offers 'dlaunch --output o')" "over " "bash completes a folder"
is "$(offers 'pworker --steps o')" " " "bash offers nothing for a number"
XDG_STATE_HOME=$T/state dlaunch --detach --job late-one true >/dev/null
is "$(XDG_STATE_HOME=$T/state offers 'dlaunch attach la')" "late-one " "bash completes a job"
XDG_STATE_HOME=$T/state dlaunch attach late-one

if ! command -v zsh >/dev/null; then
	skip "zsh completes the same" "no zsh"
	done_testing
	exit
fi
# A zsh at a terminal of its own; a widget prints what completion adds.
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
	'pworker --steps o' 'pworker --net resnet --shor' | while read -r line; do
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
over

--shortcuts" "zsh completes the same"
done_testing
