# completion.t - shells complete what each tool's table of options has, and nothing else.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
. "$TOP/share/completion/tally.bash"

# The options of a tool's table in its sources.
table() { # TOOL
	cat "$TOP/cmd/$1.c" "$TOP/cmd/$1"_*.c 2>/dev/null | sed -n 's/^	{ "\([a-z0-9-]*\)", [a-z]*_argument,.*/--\1/p' | sort -u
}
offers() { # TOOL WORD BEFORE
	COMPREPLY=()
	_tally "$@"
	printf '%s\n' "${COMPREPLY[@]}" | sort -u
}
for c in "$TOP"/cmd/*.c; do
	grep -q '^main(' "$c" || continue
	t=$(basename "$c" .c)
	is "$(comm -23 <(table "$t") <(offers "$t" -- "$t") | tr '\n' ' ')" "" "$t: every option is offered"
	is "$(comm -13 <(table "$t") <(offers "$t" -- "$t") | grep -v '^--net-option$' | tr '\n' ' ')" "" "$t: and no other"
done
is "$(offers pworker --mom pworker)" --momentum "a beginning"
is "$(offers pworker incep --net | tr '\n' ' ')" "inception inception-bn " "a net"
is "$(offers pworker ada --optimizer | tr '\n' ' ')" "adam adamw " "an optimizer"
is "$(offers pworker @mnist-elu pworker | tr '\n' ' ')" "@mnist-elu @mnist-elu-async @mnist-elu-momentum @mnist-elu-sync " "a recipe"
is "$(offers dlaunch @local-m dlaunch)" @local-mlp "dlaunch too"
touch one.rec two.rec
is "$(offers pworker o --data)" one.rec "a file"
if command -v zsh >/dev/null; then
	ok "zsh takes its own" zsh -n "$TOP/share/completion/_tally"
else
	skip "zsh takes its own" "no zsh"
fi
done_testing
