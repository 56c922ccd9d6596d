# pmerge.t - weight files in, one weight file out: verbs, formats, exit codes, messages and bad input.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1

pictures images 40 1 && im2rec images >a.rec || exit 1
ok "weights to work on" pworker --net lenet --variant bn --data a.rec --batch 20 --epochs 2 --save w
set -- w-0001.safetensors w-0002.safetensors

status 0 "a mean" pmerge -o mean.safetensors "$@"
ok "the same through a pipe" sh -c 'pmerge "$@" | cmp - mean.safetensors' sh "$@"
ok "the same with weights said" sh -c 'pmerge --weights 2:2 "$@" | cmp - mean.safetensors' sh "$@"
ok "a mean is between its files" sh -c 'pmerge --list "$@" mean.safetensors | awk -F"\t" "
	\$2 == \"fc1_weight\" { v[n++] = \$8 } END { exit !(n == 3 && (v[0] - v[2]) * (v[1] - v[2]) < 0) }"' sh "$@"
status 1 "a mean differs from its files" pmerge --diff mean.safetensors "$2"
like "$T/out" '^conv1_weight	numbers	[1-9][0-9]*	[0-9.e-]+	[0-9.e-]+$' "... and how is said"
status 0 "a moving average that forgets nothing" pmerge --ema 1 -o first.safetensors "$@"
pmerge --no-state "$1" >plain.safetensors
status 0 "... is the first file" pmerge --diff first.safetensors plain.safetensors
status 0 "one that forgets all" pmerge --ema 0 -o last.safetensors "$@"
pmerge --no-state "$2" >plain.safetensors
status 0 "... is the last" pmerge --diff last.safetensors plain.safetensors

status 0 "a copy" pmerge -o copy.safetensors "$2"
ok "... is the same to the byte" cmp copy.safetensors "$2"
ok "... and a run goes on from it" pworker --net lenet --variant bn --data a.rec --batch 20 --epochs 3 --resume copy.safetensors
status 0 "to MXNet's format" pmerge -o w.params "$2"
status 0 "... and back" pmerge -o back.safetensors w.params
status 0 "... with the same numbers" pmerge --diff plain.safetensors back.safetensors
status 0 "... which is told without it, too" pmerge --diff plain.safetensors w.params
status 0 "... either way" pmerge --diff w.params plain.safetensors
status 0 "to a pipe in that format" sh -c 'pmerge --to params "$1" | cmp - w.params' sh "$2"
ok "from a pipe" sh -c 'pmerge "$1" | pmerge --to params - | cmp - w.params' sh "$2"
ok "from pipes with names" bash -c 'pmerge <(pmerge "$1") <(cat "$2") | cmp - mean.safetensors' sh "$@"
mkfifo late
pmerge --list late >listed &
timeout 20 sh -c "until grep -qs 'State:.S' /proc/$!/status; do :; done"
timeout 20 sh -c 'cat "$1" >late' sh "$2"
wait $!
is "$?" 0 "who writes to a pipe with a name is waited for"
is "$(cut -f 2- listed)" "$(pmerge --list "$2" | cut -f 2-)" "... whole"
pmerge --list late >listed 2>&1 &
timeout 20 sh -c "until grep -qs 'State:.S' /proc/$!/status; do :; done"
kill -TERM $!
wait $!
is "$? $(cat listed)" "143 " "... and the wait ends when one is asked to stop"
for begin in '\0\0\0\0\0\0\0\0' '\0\0\0\0\1\0\0\0' 'a line and another'; do
	exec 3<>late
	printf "$begin" >&3
	status 1 "a pipe that begins with $begin, and does not end" sh -c 'timeout 10 pmerge --list - <late'
	exec 3>&-
	like "$T/err" '^pmerge: standard input: .*(not a JSON object|neither safetensors nor an NDArray list)$' "... is refused at once"
done
status 0 "to a model of ONNX" pmerge -o net.onnx "$2"
ok "the same through a pipe" sh -c 'pmerge --to onnx "$1" | cmp - net.onnx' sh "$2"
ok "the same from MXNet's format, the net named" sh -c \
	'pmerge --to onnx --net lenet --net-opt variant=bn --shape 1x28x28 --classes 10 w.params | cmp - net.onnx'
ok "that of a mean is that of the mean's file" sh -c 'pmerge --to onnx "$@" | cmp - mean.onnx' sh "$@" \
	<<<"$(pmerge -o mean.onnx mean.safetensors)"
ok "logits are another" sh -c 'pmerge --to onnx --logits "$1" | grep -aq logits' sh "$2"
status 1 "a model without a net" pmerge -o no.onnx w.params
like "$T/err" '^pmerge: nothing says which net it is, .*: say --net$' "... asks for it"
status 1 "of another net" pmerge --net mlp -o no.onnx "$2"
like "$T/err" "^pmerge: tensor 'fc1_weight' does not fit the net: [0-9x]*, not 128x784\$" "... names the tensor"
status 1 "of another shape" pmerge --net lenet --net-opt variant=bn --classes 11 --shape 1x28x28 -o no.onnx "$2"
like "$T/err" "^pmerge: tensor 'fc1_weight' does not fit the net: 10x[0-9]*, not 11x[0-9]*\$" "... names the tensor"
ok "and none is written" [ ! -e no.onnx ]
status 0 "split" pmerge --split 3 -o part "$2"
status 0 "joined" pmerge --join -o whole.safetensors part-*-of-00003.safetensors
ok "... is the same to the byte" cmp whole.safetensors "$2"
status 1 "a part joined with itself" pmerge --join -o twice.safetensors part-00001-of-00003.safetensors \
	part-00001-of-00003.safetensors
like "$T/err" "two tensors are called '" "pmerge --join names the tensor that occurs twice"
ok "... and there is no file" [ ! -e twice.safetensors ]

status 0 "picked, renamed, dropped" pmerge --pick 'conv*' --pick 'bn1*' --drop '*.bias' --rename '_([a-z]*)$=.\1' \
	-o some.safetensors "$2"
is "$(pmerge --list some.safetensors | cut -f 2 | sed 1d | sort | tr '\n' ' ')" "$(echo bn1.beta bn1.beta:momentum bn1.gamma \
	bn1.gamma:momentum bn1_moving.mean bn1_moving.var conv1.weight conv1.weight:momentum conv2.weight \
	conv2.weight:momentum) " "... leaves these"
status 0 "as Gluon names its blocks" pmerge --rename '^conv1_weight$=features.0.weight' -o blocks.params "$2"
is "$(grep -aoE '(arg:|aux:)?(features.0.weight|conv2_weight|bn1_moving_var)' blocks.params | sort | tr '\n' ' ')" \
	"arg:conv2_weight aux:bn1_moving_var features.0.weight " "... those stand alone in a list"
status 0 "... with state" pmerge --state --rename '^conv1_weight$=features.0.weight' --to params -o blocks.params "$2"
is "$(grep -aoE '(arg:|aux:)?(features.0.weight|conv2_weight):momentum' blocks.params | sort | tr '\n' ' ')" \
	"arg:conv2_weight:momentum features.0.weight:momentum " "... which goes the way of what it belongs to"
status 2 "nothing left" pmerge --pick none -o none.safetensors "$2"
status 1 "files of other tensors" pmerge -o no.safetensors "$2" some.safetensors
like "$T/err" "^pmerge: some\.safetensors: has no tensor 'conv1_weight', which w-0002\.safetensors has\$" "... the missing one is named"
status 0 "whole files" pmerge --verify "$@" w.params

head -c 3000 "$2" >cut.safetensors
printf 'abc' >abc.safetensors
{ head -c 600 w.params; printf '\0\0\300\177'; tail -c +605 w.params; } >odd.params
printf 'PK\3\4\0\0\10\10\0\0\0\0data.pkl' >torch.pth
printf '\200\2\212\nl\374\234F\371 j\250P\31.' >old.pt
status 1 "what torch.save() writes, now and before" pmerge --verify torch.pth old.pt
is "$(grep -c "^pmerge: \(torch\.pth\|old\.pt\): a pickle or zip archive, .*save_file(torch\.load(" "$T/err")" 2 \
	"... is told, and what to do"
status 1 "broken files" pmerge --verify cut.safetensors abc.safetensors odd.params "$1" missing a.rec
like "$T/err" '^pmerge: cut\.safetensors: ends inside ' "one cut short"
like "$T/err" "^pmerge: abc\.safetensors: 3 bytes are too few for a header\$" "pmerge refuses a file of three bytes"
like "$T/err" "^pmerge: odd\.params: tensor 'arg:[a-z0-9_]*': 1 of its [0-9]* numbers are not finite\$" "a number that is none"
like "$T/err" '^pmerge: missing: open: No such file' "one that is not there"
like "$T/err" '^pmerge: a\.rec: .* neither safetensors nor an NDArray list$' "one that is something else"
is "$(wc -l <"$T/err")" 5 "... and no more"

# Memory stays bounded: 64 MB of data in all, of two files of 50,000 tensors and of one tensor of 400 MB.
perl -e '
	my $n = 50000;
	my $head = "{" . join(",", map { sprintf q("layer.%d.weight":{"dtype":"F32","shape":[1],"data_offsets":[%d,%d]}), $_, 4 * $_,
		4 * $_ + 4 } 0 .. $n - 1) . sprintf(q(,"large":{"dtype":"F32","shape":[100000000],"data_offsets":[%d,%d]}), 4 * $n,
		4 * $n + 400000000) . "}";
	print pack("Q<", length $head), $head, pack("f<*", 1 .. $n);' >many.safetensors
truncate -s +400000000 many.safetensors
for verb in -o/dev/null --verify; do
	[ -z "${SAN:-}" ] || continue	# a sanitizer maps terabytes
	status 0 "many tensors and a large one in little memory: $verb" \
		bash -c 'ulimit -d 65536; exec pmerge "$@"' sh $verb many.safetensors many.safetensors
done

# One who is asked to stop leaves what was there, and nothing else: while the table of 50,000 tensors is written, and later.
perl -e '
	my $n = 50000;
	my $head = "{" . join(",", map { sprintf q("layer.%d.weight":{"dtype":"F32","shape":[1],"data_offsets":[%d,%d]}), $_, 4 * $_,
		4 * $_ + 4 } 0 .. $n - 1) . sprintf(q(,"large":{"dtype":"F32","shape":[500000000],"data_offsets":[%d,%d]}), 4 * $n,
		4 * $n + 2000000000) . "}";
	print pack("Q<", length $head), $head, pack("f<*", 1 .. $n);' >large.safetensors
truncate -s +2000000000 large.safetensors
echo before >kept.safetensors
for bytes in 0 9000000; do
	pmerge -o kept.safetensors large.safetensors large.safetensors 2>"$T/err" &
	timeout 20 bash -c 'until ls kept.safetensors.*.tmp && [ "$(stat -c %s kept.safetensors.*.tmp)" -ge $0 ]; do :; done' $bytes \
		>"$T/out" 2>&1
	kill -TERM $!
	wait $!
	is $? 143 "stopped by a signal at byte $bytes"
	is "$(cat kept.safetensors; ls kept.*; cat "$T/err")" "$(printf 'before\nkept.safetensors')" "... nothing of it stays"
done
pmerge --split 2 -o kept large.safetensors &
timeout 20 bash -c 'until ls kept-*.tmp; do :; done' >"$T/out" 2>&1
kill -TERM $!
wait $!
is $? 143 "a split, too"
is "$(find . -name 'kept-*.tmp')" "" "... leaves nothing half written"
mkfifo unread
pmerge -o unread "$2" &
timeout 20 sh -c "until grep -qs 'State:.S' /proc/$!/status; do :; done"
kill -TERM $!
wait $!
is $? 143 "who waits for a reader of a pipe stops as well"
rm many.safetensors large.safetensors

status 2 "no file" pmerge -o x
status 2 "two verbs" pmerge --list --diff "$@"
status 2 "too few weights" pmerge --weights 1 -o x "$@"
status 2 "too many" pmerge --weights 1:2:3 -o x "$@"
status 2 "weights that sum to nothing" pmerge --weights 0:0 -o x "$@"
for option in --pick=a --drop=a --rename=a=b --state --no-average --to=params --logits --tolerance=1 -ox; do
	status 2 "$option with --list" pmerge --list $option "$2"
	like "$T/err" "^pmerge: --[a-z-]*: goes with [-a-zA-Z .]* alone\$" "... is told"
done
for option in --net=lenet --logits --tolerance=1 --classes=3; do
	status 2 "$option with a mean" pmerge $option -o x "$@"
done
status 2 "the shape of no net" pmerge --to onnx --shape 1x28x28 -o x "$2"
ok "and nothing is written" [ ! -e x ]
status 2 "a format that there is not" pmerge --to keras -o x "$2"
status 2 "an option of a net that is none" pmerge --to onnx --net-opt =3 -o x "$2"
printf 'conv1.* conv1_*\n*.w *_weight\n' >table
status 0 "names by a table" pmerge --rename to:./table -o theirs.safetensors "$2"
is "$(pmerge --list theirs.safetensors | cut -f 2 | grep -c '^conv1\.\|\.w$')" 6 "... theirs"
status 0 "and back" pmerge --rename from:./table -o ours.safetensors theirs.safetensors
status 0 "... ours" pmerge --diff "$2" ours.safetensors
printf 'a\n' >table
status 2 "a table that is none" pmerge --rename from:./table -o x "$2"
like "$T/err" '^pmerge: --rename: \./table: line 1: is not two names$' "... file and line are named"
status 2 "a rule that is none" pmerge --rename '(=x' -o x "$2"
status 2 "a difference of one file" pmerge --diff "$2"
status 1 "a place that cannot be written" pmerge -o none/x.safetensors "$2"
like "$T/err" '^pmerge: none/x\.safetensors: ' "... is named"
done_testing
