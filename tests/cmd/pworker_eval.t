# pworker_eval.t - --eval, --predict and --statistics: scores, rows, images from pipes and archives, bad input.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1

pictures images 60 1 && im2rec -o a.rec images || exit 1
pworker --net lenet --variant bn --scale 1 --init uniform:0.07 --data a.rec --val a.rec --batch 20 --epochs 3 \
	--lr 0.05 --save w >log.tsv 2>/dev/null
field() { sed -n 2p "$1" | cut -f "$2"; }

status 0 "pworker --eval exits with 0" pworker --eval w-0003.safetensors --data a.rec --batch 16
cp "$T/out" score
is "$(head -n 1 score)" "samples	loss	accuracy	top5_accuracy" "--eval names its columns"
n=$(wc -l <a.idx)
is "$(field score 1)" "$n" "--eval counts every record"
is "$(field score 3) $(field score 2) $(field score 4)" \
	"$(awk -F'\t' '$5 == "validation" { v = $10 " " $9 " " $22 } END { print v }' log.tsv)" \
	"--eval gives the score of the last validation"
mkfifo named
cat w-0003.safetensors >named &
for from in "< w-0003.safetensors pworker --eval -" "cat w-0003.safetensors | pworker --eval -" \
	"pworker --eval <(cat w-0003.safetensors)" "pworker --eval named"; do
	is "$(bash -c "$from --data a.rec --batch 16")" "$(cat score)" "$from has the preprocessing, and the score of the file"
done
is "$(bash -c "cat w-0003.safetensors | pworker --start - --data a.rec --batch 20 --steps 1 2>&1 >/dev/null" | tail -n 1)" \
	"pworker: all 14 arrays start from the file" "--start reads the net and the arrays of a pipe"
status 2 "weights and images do not both come from standard input" sh -c 'pworker --eval - - <w-0003.safetensors'
status 2 "dlaunch with servers refuses --eval" dlaunch -n 1 -s 1 pworker --eval w-0003.safetensors --data a.rec
like "$T/err" '^worker 0: pworker: --[a-z-]*: is for training, and does not go with --eval; dlaunch -n 1 -s 0 starts no servers$' \
	"the error says how to start no servers"
status 0 "pworker --predict exits with 0" pworker --predict w-0003.safetensors --data a.rec --batch 16 --top 1000
cp "$T/out" rows
is "$(head -n 1 rows)" "id	class	probability	name	label" "--predict names its columns"
is "$(sed 1d rows | cut -f 1 | uniq | cmp -s - <(cut -f 1 a.idx) && echo same)" same \
	"--predict prints rows in the order of the records"
ok "the probabilities of a record fall and add up to 1" awk -F'\t' 'BEGIN { id = "none" } NR > 1 {
	if ($1 != id) { if (NR > 2 && (sum < 0.999 || sum > 1.001)) exit 1; sum = 0; last = 1; id = $1 }
	if ($3 > last) exit 1
	last = $3; sum += $3 }' rows
classes=$(sed 1d rows | cut -f 2 | sort -u | wc -l)
is "$(sed 1d rows | wc -l)" $((n * classes)) "--predict --top 1000 prints each class of a record once"
im2rec images | pworker --predict w-0003.safetensors --data - >piped 2>/dev/null
ok "--predict prints the same rows for records that im2rec pipes" \
	cmp piped <(awk -F'\t' 'NR == 1 || $1 != id { print; id = $1 }' rows)
status 0 "--eval accepts --flip" pworker --eval w-0003.safetensors --data a.rec --flip
ok "--eval --flip gives another score" test "$(field "$T/out" 2)" != "$(field score 2)"

# Images in CIFAR-10's format, and copies shifted by up to two pixels with reflected edges, also mirrored.
cat >move.pl <<'END'
my ($dy, $dx, $flip) = @ARGV;
sub at { my $i = abs shift; $i < 32 ? $i : 62 - $i }
binmode STDIN; binmode STDOUT;
while (read(STDIN, my $r, 3073) == 3073) {
	my @p = unpack "C*", $r;
	my @q = shift @p;
	for my $c (0..2) { for my $y (0..31) { for my $x (0..31) {
		push @q, $p[1024 * $c + 32 * at($y + $dy) + at(($flip ? 31 - $x : $x) + $dx)];
	} } }
	print pack "C*", @q;
}
END
perl -e 'srand 1; for $i (0..29) { print chr($i % 10), join "", map { chr(int rand 256) } 1..3072 }' >raw
mkdir -p 0
pack() { mkdir -p "$1" && cat >"$1/data_batch_1.bin" && im2rec "$1/data_batch_1.bin" -o "$1.rec" 2>/dev/null; }
pack 0 <raw
net="pworker --net lenet --shape 3x32x32 --classes 10 --scale 0.0039 --batch 8"
$net --data 0.rec --epochs 3 --lr 0.02 --val 0.rec --flip --shift 2 --save s >shifted.tsv 2>/dev/null
$net --data 0.rec --epochs 3 --lr 0.02 --val 0.rec >plain.tsv 2>/dev/null
$net --data 0.rec --epochs 3 --lr 0.02 --val 0.rec --flip --shift 2 --final-views >final.tsv 2>/dev/null
val() { awk -F'\t' '$5 == "validation" { print $6, $9, $10 }' "$1"; }
is "$(val final.tsv | head -2)" "$(val plain.tsv | head -2)" "--final-views validates without views before the last epoch"
is "$(val final.tsv | tail -1)" "$(val shifted.tsv | tail -1)" "--final-views validates the last epoch with views"
ok "views change the validation" test "$(val plain.tsv | tail -1)" != "$(val shifted.tsv | tail -1)"
steps=$(awk -F'\t' '$5 == "step"' plain.tsv | wc -l)
$net --data 0.rec --steps $((steps + 1)) --lr 0.02 --val 0.rec --flip --shift 2 --final-views >steps.tsv 2>/dev/null
is "$(val steps.tsv)" "$(val final.tsv)" "--final-views validates with views the last epoch that --steps lets end"
status 2 "--final-views with --updates is refused" $net --data 0.rec --val 0.rec --flip --final-views --updates 9 --async
is "$(cat err)" "pworker: --final-views: does not go with --updates, which may end any epoch" "the error names --updates"
status 2 "--final-views without views is refused" $net --data 0.rec --val 0.rec --final-views
status 2 "--final-views with --best is refused" $net --data 0.rec --val 0.rec --flip --final-views --best --save b
rows() {
	pworker --predict s-0003.safetensors --scale 0.0039 --batch 8 --top 10 "$@" 2>/dev/null | sed 1d | cut -f 1-3 |
		sort -n -k1,1 -k2,2
}
i=0
for way in "0 0" "-2 -2" "-2 2" "2 -2" "2 2"; do
	i=$((i + 1))
	perl move.pl $way 0 <raw | pack a$i && perl move.pl $way 1 <raw | pack b$i
	rows --data a$i.rec >a$i.rows && rows --data b$i.rec >b$i.rows
done
# Whether the rows of the first file are the mean of those of the others.
mean() { paste "$@" | awk '{ p = 0; for (i = 6; i <= NF; i += 3) p += $i; p /= NF / 3 - 1
	if ($1 != $4 || $2 != $5 || (d = p - $3) * d > 4e-12) exit 1; n++ } END { exit n != 300 }'; }
rows --data 0.rec --flip >flipped
ok "--flip gives the mean over an image and its mirror image" mean flipped [ab]1.rows
rows --data 0.rec --shift 2 >moved
ok "--shift gives the mean over five places" mean moved a?.rows
ok "--shift differs from a single place" sh -c '! cmp -s moved a1.rows'
rows --data 0.rec --shift 2 --flip >both
ok "--shift with --flip gives the mean over ten copies" mean both [ab]?.rows
status 0 "--eval accepts --shift with --flip" \
	pworker --eval s-0003.safetensors --data 0.rec --scale 0.0039 --batch 8 --shift 2 --flip
is "$(field "$T/out" 3) $(field "$T/out" 2) $(field "$T/out" 4)" \
	"$(awk -F'\t' '$5 == "validation" { v = $10 " " $9 " " $22 } END { print v }' shifted.tsv)" \
	"--eval with --shift and --flip gives the score of such a validation"
ok "--eval with --shift and --flip gives the loss of the predicted rows" \
	awk -v want="$(field "$T/out" 2)" '$2 == $1 % 10 { s -= log($3); n++ }
	END { d = s / n - want; exit !(n == 30 && d * d < 1e-9) }' both
$net --data 0.rec --epochs 3 --lr 0.02 --val 0.rec --save plain 2>/dev/null >plain.tsv
ok "--shift and --flip of a validation change no byte of the weights" cmp s-0003.safetensors plain-0003.safetensors
status 2 "--shift refuses the width of an image" pworker --eval s-0003.safetensors --data 0.rec --shift 32
like "$T/err" '^pworker: a shift by 32: images are only 32x32$' "--shift's error gives the size of the images"

mkdir odd && cp "$(find images -name '*.png' | head -n 1)" odd/a.png && head -c 100 odd/a.png >odd/b.png
printf '0\t1\ta.png\n1\t99\ta.png\n' >odd.lst
im2rec -o odd.rec odd.lst odd
status 0 "--eval accepts a record whose label has no class" pworker --eval w-0003.safetensors --data odd.rec
is "$(field "$T/out" 1)" 1 "--eval does not count a record whose label has no class"
printf '1\t99\ta.png\n' >none.lst && im2rec -o none.rec none.lst odd
status 1 "--eval fails if no label has a class" pworker --eval w-0003.safetensors --data none.rec
like "$T/err" '^pworker: no record has a label below ' "--eval's error says that no label has a class"
head -c 3000 w-0003.safetensors >cut.safetensors
status 1 "--eval refuses a truncated checkpoint" pworker --eval cut.safetensors --data a.rec
like "$T/err" '^pworker: cut\.safetensors: ends inside ' "--eval's error names the truncated checkpoint"
status 1 "--eval refuses empty standard input" pworker --eval w-0003.safetensors </dev/null
like "$T/err" '^pworker: standard input: no images' "--eval's error says that standard input has no images"

# Images that are not packed: in a folder, by name, in archives, on standard input; rows keep their order.
p="pworker --predict w-0003.safetensors"
sed 1d piped | cut -f 2,3 >want
find images -type f | sort >all.names
one=$(sed 5q all.names | tail -n 1)
same() { is "$(cut -f 1 "$T/out" | sed 1d | cmp - "$1" && cut -f 2,3 "$T/out" | sed 1d | cmp - "$2" && echo same)" same "$3"; }
status 0 "--predict accepts a folder of images" $p images
same all.names want "--predict prints a folder's images by name, with the rows of records"
status 0 "--predict accepts names on standard input" $p <all.names
same all.names want "--predict prints the same rows for names on standard input"
tar cf all.tar -T all.names
status 0 "--predict accepts a tar archive from a pipe" sh -c "cat all.tar | $p -"
same all.names want "--predict prints the same rows for a piped archive"
status 0 "--predict accepts a compressed archive" sh -c "gzip all.tar && $p all.tar.gz"
same <(sed 's/^/all.tar.gz: /' all.names) want "--predict names an image of an archive after the archive"
sed 5q want | tail -n 1 >want1
status 0 "--predict accepts one image from a pipe" sh -c "cat $one | $p"
same <(echo -) want1 "--predict names an image from a pipe -"
status 0 "--predict accepts a file name with a tab" sh -c "cp $one 'a	b' && $p 'a	b'"
same <(echo 'a\tb') want1 "--predict escapes the tab of a file name"
status 0 "--predict accepts records on standard input" $p <a.rec
is "$(cut -f 2,3 "$T/out" | sed 1d | cmp - want && echo same)" same "--predict prints the same rows for records on standard input"
head -c 100 "$one" >cut.png && echo text >text.jpg
status 1 "--predict exits with 1 if one of its images is bad" $p cut.png "$one" gone.png text.jpg /dev/null
same <(echo "$one") want1 "--predict prints the row of the good image among bad ones"
is "$(cut -d : -f 2 "$T/err" | paste -s)" " cut.png	 gone.png	 text.jpg	 /dev/null" \
	"--predict reports each bad image in one line"
for way in "cat a.rec" "tar c --sort=name images"; do
	status 0 "--eval accepts the output of $way" sh -c "$way | pworker --eval w-0003.safetensors --batch 16"
	ok "--eval gives the records' score for $way" cmp "$T/out" score
done
status 0 "--eval accepts class folders" pworker --eval w-0003.safetensors --batch 16 images
ok "--eval gives the records' score for class folders" cmp "$T/out" score
status 2 "--eval refuses names on standard input" pworker --eval w-0003.safetensors <all.names
status 1 "--predict refuses an empty list of names" sh -c "echo | $p"
like "$T/err" '^pworker: no image$' "--predict's error says that there is no image"
status 1 "--predict refuses an empty file of records" $p --data /dev/null
like "$T/err" '^pworker: /dev/null: no image$' "--predict's error names the empty file of records"
status 2 "--predict refuses records in place of an image" $p a.rec
like "$T/err" '^pworker: a\.rec: holds records; use --data a\.rec$' "--predict's error suggests --data for records"
status 2 "--predict refuses an image with --data" $p --data a.rec "$one"

# Weights in MXNet's format, whose file does not record the net.
net="--net lenet --variant bn"
pmerge -o w.params --rename '^conv=first_conv' w-0003.safetensors
status 1 "--eval refuses MXNet's format without --net" pworker --eval w.params --data a.rec
is "$(cat "$T/err")" "pworker: w.params: holds no graph of its net; name the net with --net" "the error asks for --net"
status 1 "--eval refuses weights whose arrays have other names" pworker --eval w.params $net --data a.rec
like "$T/err" '^pworker: w\.params: lacks .* conv1_weight \(not there\)' "--eval's error names the arrays that the file lacks"
status 0 "--eval accepts --start-rename" pworker --eval w.params $net --start-rename '^first_=' --data a.rec --batch 16
ok "--eval with --start-rename gives the same score" cmp "$T/out" score
status 1 "--eval refuses another number of classes" pworker --eval w-0003.safetensors $net --classes 11 --data a.rec
like "$T/err" 'fc1_weight \(10x128, not 11x128\)' "--eval's error gives both shapes of the array"
status 2 "--eval refuses an option of a net without --net" pworker --eval w-0003.safetensors --layers 3 --data a.rec

pmerge -o mean.safetensors w-0002.safetensors w-0003.safetensors
status 0 "--statistics accepts the mean of two checkpoints" \
	pworker --statistics mean.safetensors --data a.rec --batch 100 --engine ref
cp "$T/out" ref.safetensors
like "$T/err" '^pworker: mean\.safetensors: statistics of 60 samples$' "--statistics reports how many samples it read"
status 0 "--statistics runs on the default engine" pworker --statistics mean.safetensors --data a.rec --batch 100
cp "$T/out" cpu.safetensors
status 0 "--statistics gives the same numbers on two engines" pmerge --diff --tolerance 1e-5 ref.safetensors cpu.safetensors
is "$(pmerge --diff mean.safetensors cpu.safetensors | sed 1d | cut -f 1,2 | sed 's/_moving_[a-z]*//' | sort -u | paste -sd,)" \
	"bn1	numbers,bn2	numbers" "--statistics changes only the running statistics"
status 0 "--eval accepts the weights that --statistics writes" pworker --eval cpu.safetensors --data a.rec
status 0 "--statistics accepts --steps" pworker --statistics w-0003.safetensors --data a.rec --steps 2 --batch 16
like "$T/err" 'statistics of 32 samples$' "--statistics --steps 2 reads two batches"
cp "$T/out" few.safetensors
is "$(pmerge --list few.safetensors | grep -c :momentum)" "$(pmerge --list w-0003.safetensors | grep -c :momentum)" \
	"--statistics keeps the optimizer's state"
status 1 "--statistics fails if --data names a missing file" pworker --statistics mean.safetensors --data gone.rec
# A NaN, the last number of the last array.
pmerge --no-state -o bad.safetensors w-0003.safetensors 2>/dev/null
printf '\0\0\300\177' | dd of=bad.safetensors bs=1 seek=$(($(wc -c <bad.safetensors) - 4)) conv=notrunc 2>/dev/null
for way in --eval --predict --statistics "--net lenet --variant bn --start" "--net lenet --variant bn --resume" \
	"--net lenet --variant bn --eval"; do
	# shellcheck disable=SC2086
	status 1 "pworker $way refuses weights with a NaN" pworker $way bad.safetensors --data a.rec --batch 20
	like "$T/err" "^pworker: bad\.safetensors: tensor 'bn2_moving_var' holds NaN or infinite numbers\$" \
		"pworker $way names the array with a NaN"
done
pworker --net lenet --variant bn --scale 1 --init uniform:0.07 --data a.rec --batch 20 --epochs 2 --lr 0.05 --ema 0.9 --save e \
	>/dev/null 2>&1
status 0 "--eval of weights with an average" pworker --eval e-0002.safetensors --data a.rec
cp "$T/out" average
status 0 "--eval with the net of the weights" pworker --net lenet --variant bn --eval e-0002.safetensors --data a.rec
ok "the net of the weights changes no score" cmp "$T/out" average
status 0 "--eval without the average" pworker --net lenet --variant bn --no-average --eval e-0002.safetensors --data a.rec
ok "the average has another score" test "$(cat "$T/out")" != "$(cat average)"
# Finite weights whose products with these images overflow.
cat >full.lua <<'END'
return softmax{fc{data(), 10, name = "fc1"}}
END
pworker --net ./full.lua --shape 3x32x32 --data a.rec --batch 20 --lr 1e-6 --steps 1 --save full >/dev/null 2>&1
full=$(echo full-*)
pmerge --no-state -o large.safetensors "$full" && printf '\377\377\177\177' |
	dd of=large.safetensors bs=1 seek=$(($(wc -c <large.safetensors) - 100)) conv=notrunc 2>/dev/null
status 1 "--predict exits with 1 if probabilities are NaN" pworker --predict large.safetensors --data a.rec --batch 20
odd=$(grep -c '^pworker: [0-9]*: its probabilities are NaN$' "$T/err")
ok "--predict names the records whose probabilities are NaN" test "$odd" -gt 50
is "$(sed 1d "$T/out" | grep -vc nan)" $((n - odd)) "--predict prints no row of NaN probabilities"
status 1 "--eval exits with 1 if probabilities are NaN" pworker --eval large.safetensors --data a.rec --batch 20
like "$T/err" "^pworker: $odd samples have NaN probabilities\$" "--eval reports how many samples have NaN probabilities"
status 1 "pmerge --verify refuses weights with a NaN" pmerge --verify bad.safetensors
done_testing
