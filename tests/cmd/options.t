# options.t - what all tools share: -h, options after operands, and what they answer to a mistyped option.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1

for t in $(tools); do
	is "$($t -h)" "$($t --help)" "$t -h prints what --help prints"
	ok "$t --help is grouped by task" test "$($t --help | grep -c '^[A-Z][a-z ]*:$')" -ge 2
	[ "$t" = pworker ] || status 2 "$t refuses a mistyped option" "$t" --versoin
	[ "$t" = pworker ] || is "$(cat "$T/err")" "$t: --versoin: no such option; did you mean --version?" "$t proposes the nearest option"
done
is "$(pworker --help | grep -o '^[A-Z][a-z ]*:' | paste -sd' ')" \
	"Training: Checkpoints: Evaluation: Machine and job:" "the tasks of pworker are grouped"
is "$(dlaunch --help | grep -c '^[A-Z][a-z ]*:$')" 4 "the tasks of dlaunch are grouped"
answer() { # LINE COMMAND...
	local line=$1
	shift
	status 2 "refused: $*" "$@"
	is "$(cat "$T/err")" "$line" "the answer names the option: $*"
}
answer "plog: --xyzzy: no such option; --help lists the options" plog --xyzzy
answer "plog: -Q: no such option; --help lists the options" plog -Q log.tsv
answer "im2rec: -Q: no such option; --help lists the options" im2rec -qQ images
answer "im2rec: --resize: needs a value" im2rec images --resize
answer "im2rec: -o: needs a value" im2rec images -o
answer "im2rec: --verify: takes no value" im2rec --verify=yes images
answer "dlaunch: --num: may be --num-servers or --num-workers" dlaunch --num 3 true
answer "dlaunch: --retsart: no such option; did you mean --restart?" dlaunch --retsart=3 true
answer "pworker: $TOP/share/nets/mlp.lua: this net has no option 'bacth'; did you mean --batch?" \
	env TALLY_SHARE="$TOP/share" pworker --net mlp --print --bacth 3
answer "pworker: --pritn: no such option; did you mean --print?" pworker --net mlp --pritn
answer "pworker: --batch: needs a value" pworker --net mlp --batch

# Options after operands, in the tools whose operands are no command.
mkdir -p images/a
base64 -d >images/a/1.png <<-'B64'
	iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAC0lEQVR4nGNwOAAAAUMBAQURd3wAAAAASUVORK5CYII=
B64
status 0 "im2rec takes options after operands" im2rec images -q -o x.rec --encoding png
printf '# tally 0.1 tool=pworker host=a rank=0\n' >log.tsv
status 0 "plog takes options after operands" plog log.tsv --machines --format tsv
status 1 "pmerge takes options after operands" pmerge none.safetensors --list
like err '^pmerge: none.safetensors: ' "pmerge reports the operand before the option"
done_testing
