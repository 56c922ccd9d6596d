# pmerge.t - weight files in, one weight file out: verbs, formats, exit codes, messages and bad input.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1

pictures images 40 1 && im2rec images >a.rec || exit 1
ok "pworker trains weights for pmerge" pworker --net lenet --variant bn --data a.rec --batch 20 --epochs 2 --save w
set -- w-0001.safetensors w-0002.safetensors

status 0 "pmerge -o writes a mean" pmerge -o mean.safetensors "$@"
ok "pmerge writes the same mean to a pipe" sh -c 'pmerge "$@" | cmp - mean.safetensors' sh "$@"
ok "pmerge --weights 2:2 gives the same mean" sh -c 'pmerge --weights 2:2 "$@" | cmp - mean.safetensors' sh "$@"
ok "a mean lies between the numbers of its files" sh -c 'pmerge --list "$@" mean.safetensors | awk -F"\t" "
	\$2 == \"fc1_weight\" { v[n++] = \$8 } END { exit !(n == 3 && (v[0] - v[2]) * (v[1] - v[2]) < 0) }"' sh "$@"
status 1 "pmerge --diff exits with 1 if a mean differs from its file" pmerge --diff mean.safetensors "$2"
like "$T/out" '^conv1_weight	numbers	[1-9][0-9]*	[0-9.e-]+	[0-9.e-]+$' "pmerge --diff prints how an array differs"
status 0 "pmerge accepts --ema 1" pmerge --ema 1 -o first.safetensors "$@"
pmerge --no-state "$1" >plain.safetensors
status 0 "pmerge --ema 1 gives the weights of the first file" pmerge --diff first.safetensors plain.safetensors
status 0 "pmerge accepts --ema 0" pmerge --ema 0 -o last.safetensors "$@"
pmerge --no-state "$2" >plain.safetensors
status 0 "pmerge --ema 0 gives the weights of the last file" pmerge --diff last.safetensors plain.safetensors

status 0 "pmerge accepts a single file" pmerge -o copy.safetensors "$2"
ok "pmerge copies a single file byte by byte" cmp copy.safetensors "$2"
ok "pworker --resume accepts a copy by pmerge" \
	pworker --net lenet --variant bn --data a.rec --batch 20 --epochs 3 --resume copy.safetensors
status 0 "pmerge writes MXNet's format" pmerge -o w.params "$2"
status 0 "pmerge reads MXNet's format" pmerge -o back.safetensors w.params
status 0 "weights keep their numbers through MXNet's format" pmerge --diff plain.safetensors back.safetensors
status 0 "pmerge --diff compares safetensors with MXNet's format" pmerge --diff plain.safetensors w.params
status 0 "pmerge --diff compares MXNet's format with safetensors" pmerge --diff w.params plain.safetensors
names() { pmerge --list "$1" | sed 1d | cut -f 2 | sort; }
is "$(names w.params)" "$(names plain.safetensors)" "pmerge --list prints the names of MXNet's format without prefixes"
status 0 "pmerge accepts each name that --list prints" \
	bash -c 'pmerge --to params $(printf " --pick %s" $0) w.params | cmp - w.params' "$(names w.params)"
status 1 "pmerge --diff exits with 1 if MXNet's format has one more array" \
	sh -c 'pmerge --drop conv1_bias w.params | pmerge --diff w.params -'
is "$(sed 1d "$T/out")" "conv1_bias	only in the first	-	-	-" "pmerge --diff prints the same names"
status 0 "pmerge --to params writes MXNet's format to a pipe" sh -c 'pmerge --to params "$1" | cmp - w.params' sh "$2"
ok "pmerge reads - from a pipe" sh -c 'pmerge "$1" | pmerge --to params - | cmp - w.params' sh "$2"
ok "pmerge reads two pipes by name" bash -c 'pmerge <(pmerge "$1") <(cat "$2") | cmp - mean.safetensors' sh "$@"
mkfifo late
pmerge --list late >listed &
timeout 20 sh -c "until grep -qs 'State:.S' /proc/$!/status; do :; done"
timeout 20 sh -c 'cat "$1" >late' sh "$2"
wait $!
is "$?" 0 "pmerge waits for the writer of a named pipe"
is "$(cut -f 2- listed)" "$(pmerge --list "$2" | cut -f 2-)" "pmerge --list lists all of a file from a named pipe"
pmerge --list late >listed 2>&1 &
timeout 20 sh -c "until grep -qs 'State:.S' /proc/$!/status; do :; done"
kill -TERM $!
wait $!
is "$? $(grep -v "waiting for late" listed)" "143 " "SIGTERM ends pmerge while it waits for a writer"
for begin in '\0\0\0\0\0\0\0\0' '\0\0\0\0\1\0\0\0' 'a line and another'; do
	exec 3<>late
	printf "$begin" >&3
	status 1 "pmerge refuses an open pipe that begins with $begin" sh -c 'timeout 10 pmerge --list - <late'
	exec 3>&-
	like "$T/err" '^pmerge: standard input: .*; name a file of weights$' \
		"pmerge's error names standard input that begins with $begin"
done
status 0 "pmerge writes a model of ONNX" pmerge -o net.onnx "$2"
ok "pmerge --to onnx writes the same model to a pipe" sh -c 'pmerge --to onnx "$1" | cmp - net.onnx' sh "$2"
ok "pmerge --to onnx --net writes the same model from MXNet's format" sh -c \
	'pmerge --to onnx --net lenet --net-opt variant=bn --shape 1x28x28 --classes 10 w.params | cmp - net.onnx'
ok "pmerge writes the same model of a mean and of the mean's file" sh -c 'pmerge --to onnx "$@" | cmp - mean.onnx' sh "$@" \
	<<<"$(pmerge -o mean.onnx mean.safetensors)"
ok "pmerge --logits writes a model whose output is logits" sh -c 'pmerge --to onnx --logits "$1" | grep -aq logits' sh "$2"
status 1 "pmerge refuses a model from weights without a net" pmerge -o no.onnx w.params
like "$T/err" '^pmerge: [^ ]+: has no graph of its net; use --net$' "pmerge's error suggests --net for a model"
status 1 "pmerge refuses a model of another net" pmerge --net mlp -o no.onnx "$2"
like "$T/err" "^pmerge: tensor 'fc1_weight' does not fit the net: [0-9x]*, not 128x784\$" \
	"pmerge's error names the tensor that does not fit another net"
status 1 "pmerge refuses a model with another number of classes" \
	pmerge --net lenet --net-opt variant=bn --classes 11 --shape 1x28x28 -o no.onnx "$2"
like "$T/err" "^pmerge: tensor 'fc1_weight' does not fit the net: 10x[0-9]*, not 11x[0-9]*\$" \
	"pmerge's error names the tensor that does not fit other classes"
ok "a model that pmerge refuses leaves no file" [ ! -e no.onnx ]
status 0 "pmerge gives arrays the names of another program" pmerge --rename to:torch-resnet -o ported.safetensors "$1"
is "$(pmerge --list ported.safetensors | grep -c momentum)" 0 \
	"weights for it come without the optimizer state, which that program does not know"
status 0 "pmerge keeps the state on request" pmerge --state --rename to:torch-resnet -o ported.safetensors "$1"
ok "the state has the names of its arrays" sh -c 'pmerge --list ported.safetensors | grep -q momentum'
status 0 "pmerge accepts --split 3" pmerge --split 3 -o part "$2"
mkdir own && cp part-00002-of-00003.safetensors own
status 2 "pmerge --split refuses a prefix with which a part would replace the input" \
	pmerge --split 3 -o own/part own/part-00002-of-00003.safetensors
is "$(cat "$T/err")" "pmerge: own/part-00002-of-00003.safetensors is also the input, which would be lost; name another prefix" \
	"the error names the part that is the input"
ok "no part is written then" [ "$(ls own)" = part-00002-of-00003.safetensors ]
status 0 "pmerge accepts --join of three parts" pmerge --join -o whole.safetensors part-*-of-00003.safetensors
ok "pmerge --join restores the file that --split divided" cmp whole.safetensors "$2"
status 1 "pmerge --join refuses the same part twice" pmerge --join -o twice.safetensors part-00001-of-00003.safetensors \
	part-00001-of-00003.safetensors
like "$T/err" "^pmerge: two tensors are called '.*'; give each file once$" \
	"pmerge --join names the tensor that occurs twice, and what to do"
ok "pmerge --join leaves no file if it fails" [ ! -e twice.safetensors ]
for missing in 1 2 3; do
	set -- $(ls part-*-of-00003.safetensors | grep -v "0000$missing-of")
	status 2 "pmerge --join refuses parts without part $missing" pmerge --join -o two.safetensors "$@"
	is "$(cat "$T/err")" "pmerge: part-0000$missing-of-00003.safetensors: is missing among the files of --join; --force joins \
without it" "pmerge --join names part $missing, which is missing"
done
ok "pmerge --join leaves no file if a part is missing" [ ! -e two.safetensors ]
status 0 "pmerge --join --force accepts parts without the last" pmerge --join --force -o two.safetensors "$@"
set -- w-0001.safetensors w-0002.safetensors

status 0 "pmerge accepts --pick, --drop and --rename together" \
	pmerge --pick 'conv*' --pick 'bn1*' --drop '*.bias' --rename '_([a-z]*)$=.\1' \
	-o some.safetensors "$2"
is "$(pmerge --list some.safetensors | cut -f 2 | sed 1d | sort | tr '\n' ' ')" "$(echo bn1.beta bn1.beta:momentum bn1.gamma \
	bn1.gamma:momentum bn1_moving.mean bn1_moving.var conv1.weight conv1.weight:momentum conv2.weight \
	conv2.weight:momentum) " "--pick, --drop and --rename leave the picked tensors, renamed"
status 0 "pmerge --rename accepts a name of a block of Gluon's" \
	pmerge --rename '^conv1_weight$=features.0.weight' -o blocks.params "$2"
is "$(grep -aoE '(arg:|aux:)?(features.0.weight|conv2_weight|bn1_moving_var)' blocks.params | sort | tr '\n' ' ')" \
	"arg:conv2_weight aux:bn1_moving_var features.0.weight " "a name of Gluon's has no prefix in MXNet's format"
status 0 "pmerge --state --rename writes the optimizer's state" \
	pmerge --state --rename '^conv1_weight$=features.0.weight' --to params -o blocks.params "$2"
is "$(grep -aoE '(arg:|aux:)?(features.0.weight|conv2_weight):momentum' blocks.params | sort | tr '\n' ' ')" \
	"arg:conv2_weight:momentum features.0.weight:momentum " "an array's momentum has the prefix of its array"
status 2 "--pick refuses a pattern that matches no tensor" pmerge --pick none -o none.safetensors "$2"
status 2 "--pick refuses one of several patterns that matches no tensor" \
	pmerge --pick 'conv*' --pick 'cov2*' -o none.safetensors "$2"
like "$T/err" "^pmerge: --pick: no tensor is called cov2\*; --list prints the names$" "--pick names the pattern"
for rule in from:torch-resnet nosuch=x '^conv2=conv2'; do
	status 2 "--rename refuses the rule $rule, which changes no name" pmerge --rename "$rule" -o none.safetensors "$2"
	like "$T/err" "^pmerge: --rename: .* changes no name; --list prints the names$" "--rename names the rule $rule"
done
ok "pmerge writes no file for a rule or a pattern without a tensor" [ ! -e none.safetensors ]
status 0 "--drop accepts a pattern that matches no tensor" pmerge --drop 'nosuch*' -o all.safetensors "$2"
is "$(cat "$T/err")" "pmerge: --drop: no tensor is called nosuch*" "--drop names the pattern"
cp "$2" own.safetensors
status 2 "pmerge refuses to write over an input" pmerge -o own.safetensors "$1" own.safetensors
like "$T/err" '^pmerge: -o: own\.safetensors is also an input, which would be lost; name another file$' \
	"pmerge names the input"
ok "the input is as it was" cmp own.safetensors "$2"
status 1 "pmerge refuses files whose tensors differ" pmerge -o no.safetensors "$2" some.safetensors
like "$T/err" "^pmerge: some\.safetensors: has no tensor 'conv1_weight', which w-0002\.safetensors has\$" \
	"pmerge's error names the tensor that a file lacks"
status 0 "pmerge --verify accepts complete files" pmerge --verify "$@" w.params

head -c 3000 "$2" >cut.safetensors
printf 'abc' >abc.safetensors
{ head -c 600 w.params; printf '\0\0\300\177'; tail -c +605 w.params; } >odd.params
printf 'PK\3\4\0\0\10\10\0\0\0\0data.pkl' >torch.pth
printf '\200\2\212\nl\374\234F\371 j\250P\31.' >old.pt
status 1 "pmerge --verify refuses new and old files of torch.save()" pmerge --verify torch.pth old.pt
is "$(grep -c "^pmerge: \(torch\.pth\|old\.pt\): a pickle or zip archive, .*save_file(torch\.load(" "$T/err")" 2 \
	"pmerge's error suggests how to convert a file of torch.save()"
status 1 "pmerge --verify refuses broken files" pmerge --verify cut.safetensors abc.safetensors odd.params "$1" missing a.rec
like "$T/err" '^pmerge: cut\.safetensors: ends inside ' "pmerge --verify names the truncated file"
like "$T/err" "^pmerge: abc\.safetensors: holds 3 bytes, too few for weights; name a file of weights\$" \
	"pmerge refuses a file of three bytes"
like "$T/err" "^pmerge: odd\.params: tensor '[a-z0-9_]*': 1 of its [0-9]* numbers are not finite\$" \
	"pmerge --verify names the tensor with a NaN"
like "$T/err" '^pmerge: missing: open: No such file' "pmerge --verify names the missing file"
like "$T/err" '^pmerge: a\.rec: holds records; name a file of weights$' "pmerge --verify names the file of another format"
is "$(wc -l <"$T/err")" 5 "pmerge --verify reports each broken file in one line"

printf '\2\0\0\0\0\0\0\0{}' >empty.safetensors
status 1 "pmerge refuses a file without tensors" pmerge -o none.safetensors empty.safetensors
is "$(cat "$T/err")" "pmerge: empty.safetensors: has no tensors; name a file of weights" "pmerge's error names the file without tensors"
perl -e 'my ($head, @f) = @ARGV; print pack("Q<", length $head), $head, pack("d<*", @f)' \
	'{"a:momentum":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}' 1 >state.safetensors
status 2 "pmerge --no-state refuses a file of optimizer state only" pmerge --no-state -o none.safetensors state.safetensors
like "$T/err" '^pmerge: state\.safetensors: all its tensors are optimizer state, .*; --state, .* keep them$' \
	"pmerge's error says which tensors the file has, and how to keep them"
perl -e 'my ($head, @f) = @ARGV; print pack("Q<", length $head), $head, pack("d<*", @f)' \
	'{"n":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},"w":{"dtype":"F64","shape":[2],"data_offsets":[16,32]}}' \
	nan inf 3e300 -4e300 >wide.safetensors
is "$(pmerge --list wide.safetensors | sed 1d | cut -f 2,5- | tr '\t' ' ')" "n 2 - - - - 2
w 2 -4e+300 3e+300 -5e+299 3.53553391e+300 0" "pmerge --list has a hyphen without finite numbers, and large numbers do not overflow"

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
	status 0 "pmerge $verb reads many tensors and a large one in little memory" \
		bash -c 'ulimit -d 65536; exec pmerge "$@"' sh $verb many.safetensors many.safetensors
done

# SIGTERM leaves the file that was there, and no other: while pmerge writes the table of 50,000 tensors, and later.
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
	is $? 143 "SIGTERM ends pmerge at byte $bytes of its output"
	is "$(cat kept.safetensors; ls kept.*; cat "$T/err")" "$(printf 'before\nkept.safetensors')" \
		"SIGTERM at byte $bytes leaves only the file that was there"
done
pmerge --split 2 -o kept large.safetensors &
timeout 20 bash -c 'until ls kept-*.tmp; do :; done' >"$T/out" 2>&1
kill -TERM $!
wait $!
is $? 143 "SIGTERM ends pmerge --split"
is "$(find . -name 'kept-*.tmp')" "" "SIGTERM leaves no temporary file of --split"
mkfifo unread
pmerge -o unread "$2" &
timeout 20 sh -c "until grep -qs 'State:.S' /proc/$!/status; do :; done"
kill -TERM $!
wait $!
is $? 143 "SIGTERM ends pmerge while it waits for a reader"
rm many.safetensors large.safetensors

status 2 "pmerge refuses a command line without files" pmerge -o x
status 2 "pmerge refuses --list with --diff" pmerge --list --diff "$@"
status 2 "--weights refuses fewer weights than files" pmerge --weights 1 -o x "$@"
status 2 "--weights refuses more weights than files" pmerge --weights 1:2:3 -o x "$@"
status 2 "--weights refuses weights whose sum is 0" pmerge --weights 0:0 -o x "$@"
for option in --pick=a --drop=a --rename=a=b --state --no-average --to=params --logits --tolerance=1 -ox; do
	status 2 "pmerge --list refuses $option" pmerge --list $option "$2"
	like "$T/err" "^pmerge: --[a-z-]*: goes only with [-a-zA-Z .]*\$" "pmerge's error names the modes of $option"
done
for option in --net=lenet --logits --tolerance=1 --classes=3; do
	status 2 "pmerge refuses $option with a mean" pmerge $option -o x "$@"
done
status 2 "pmerge --to onnx refuses --shape without --net" pmerge --to onnx --shape 1x28x28 -o x "$2"
ok "options that pmerge refuses leave no file" [ ! -e x ]
status 2 "--to refuses an unknown format" pmerge --to keras -o x "$2"
status 2 "--net-opt refuses an option without a name" pmerge --to onnx --net-opt =3 -o x "$2"
printf 'conv1.* conv1_*\n*.w *_weight\n' >table
status 0 "pmerge --rename to: accepts a table" pmerge --state --rename to:./table -o theirs.safetensors "$2"
is "$(pmerge --list theirs.safetensors | cut -f 2 | grep -c '^conv1\.\|\.w$')" 6 "--rename to: gives the first names of its table"
status 0 "pmerge --rename from: accepts the same table" pmerge --rename from:./table -o ours.safetensors theirs.safetensors
status 0 "--rename from: restores the names" pmerge --diff "$2" ours.safetensors
printf 'a\n' >table
status 2 "--rename refuses a table whose line has one name" pmerge --rename from:./table -o x "$2"
like "$T/err" '^pmerge: --rename: \./table: line 1: is not two names$' "--rename's error names the table and its line"
status 2 "--rename refuses a malformed expression" pmerge --rename '(=x' -o x "$2"
status 2 "--diff refuses a single file" pmerge --diff "$2"
status 2 "pmerge refuses to name safetensors a pickle" pmerge -o none/x.pt "$2"
is "$(cat "$T/err")" "pmerge: none/x.pt: pmerge writes no pickles; name it .safetensors, which PyTorch reads with \
safetensors.torch.load_file()" "the error says which name PyTorch reads"
status 1 "pmerge fails if the directory of its output is missing" pmerge -o none/x.safetensors "$2"
like "$T/err" '^pmerge: none/x\.safetensors: ' "pmerge's error names the output in a missing directory"
done_testing
