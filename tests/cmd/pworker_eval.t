# pworker_eval.t - what trained weights say of records: scores, rows, pictures from a pipe, bad records.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1

pictures images 60 1 && im2rec -o a.rec images || exit 1
pworker --net lenet --variant bn --data a.rec --val a.rec --batch 20 --epochs 3 --lr 0.05 --save w >log.tsv 2>/dev/null
field() { sed -n 2p "$1" | cut -f "$2"; }

status 0 "a score" pworker --eval w-0003.safetensors --data a.rec --batch 16
cp "$T/out" score
is "$(head -n 1 score)" "samples	loss	accuracy	top5_accuracy" "... says what stands where"
n=$(wc -l <a.idx)
is "$(field score 1)" "$n" "... counts every record"
is "$(field score 3) $(field score 2) $(field score 4)" \
	"$(awk -F'\t' '$5 == "validation" { v = $10 " " $9 " " $22 } END { print v }' log.tsv)" \
	"... and is that of the validation"
status 0 "rows" pworker --predict w-0003.safetensors --data a.rec --batch 16 --top 1000
cp "$T/out" rows
is "$(head -n 1 rows)" "id	class	probability" "... under a head"
is "$(sed 1d rows | cut -f 1 | uniq | cmp -s - <(cut -f 1 a.idx) && echo same)" same "... in the records' order"
ok "... whose probabilities fall and add up to 1" awk -F'\t' 'BEGIN { id = "none" } NR > 1 {
	if ($1 != id) { if (NR > 2 && (sum < 0.999 || sum > 1.001)) exit 1; sum = 0; last = 1; id = $1 }
	if ($3 > last) exit 1
	last = $3; sum += $3 }' rows
classes=$(sed 1d rows | cut -f 2 | sort -u | wc -l)
is "$(sed 1d rows | wc -l)" $((n * classes)) "... each class once"
im2rec images | pworker --predict w-0003.safetensors --data - >piped 2>/dev/null
ok "pictures that are packed on the way" cmp piped <(awk -F'\t' 'NR == 1 || $1 != id { print; id = $1 }' rows)
status 0 "with mirror images" pworker --eval w-0003.safetensors --data a.rec --flip
ok "... another score" test "$(field "$T/out" 2)" != "$(field score 2)"

# Pictures of CIFAR-10's kind, and each moved by hand: up to two pixels beyond an edge are reflected at it; mirrored too.
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
rows() { pworker --predict s-0003.safetensors --scale 0.0039 --batch 8 --top 10 "$@" 2>/dev/null | sed 1d | sort -n -k1,1 -k2,2; }
i=0
for way in "0 0" "-2 -2" "-2 2" "2 -2" "2 2"; do
	i=$((i + 1))
	perl move.pl $way 0 <raw | pack a$i && perl move.pl $way 1 <raw | pack b$i
	rows --data a$i.rec >a$i.rows && rows --data b$i.rec >b$i.rows
done
# A file's rows are the mean of the others'.
mean() { paste "$@" | awk '{ p = 0; for (i = 6; i <= NF; i += 3) p += $i; p /= NF / 3 - 1
	if ($1 != $4 || $2 != $5 || (d = p - $3) * d > 4e-12) exit 1; n++ } END { exit n != 300 }'; }
rows --data 0.rec --flip >flipped
ok "--flip is the mean over both" mean flipped [ab]1.rows
rows --data 0.rec --shift 2 >moved
ok "--shift is the mean over five places" mean moved a?.rows
ok "... which are not one" sh -c '! cmp -s moved a1.rows'
rows --data 0.rec --shift 2 --flip >both
ok "both over ten" mean both [ab]?.rows
status 0 "a score of them" pworker --eval s-0003.safetensors --data 0.rec --scale 0.0039 --batch 8 --shift 2 --flip
is "$(field "$T/out" 3) $(field "$T/out" 2) $(field "$T/out" 4)" \
	"$(awk -F'\t' '$5 == "validation" { v = $10 " " $9 " " $22 } END { print v }' shifted.tsv)" \
	"... is that of the validation with the same options"
ok "... and of the rows" awk -v want="$(field "$T/out" 2)" '$2 == $1 % 10 { s -= log($3); n++ }
	END { d = s / n - want; exit !(n == 30 && d * d < 1e-9) }' both
$net --data 0.rec --epochs 3 --lr 0.02 --val 0.rec --save plain 2>/dev/null >plain.tsv
ok "... which leaves the training as it is" cmp s-0003.safetensors plain-0003.safetensors
status 2 "a shift as wide as the picture" pworker --eval s-0003.safetensors --data 0.rec --shift 32
like "$T/err" '^pworker: a shift by 32: pictures are 32x32$' "... is refused"

mkdir odd && cp "$(find images -name '*.png' | head -n 1)" odd/a.png && head -c 100 odd/a.png >odd/b.png
printf '0\t1\ta.png\n1\t99\ta.png\n' >odd.lst
im2rec -o odd.rec odd.lst odd
status 0 "a label that the net has no class for" pworker --eval w-0003.safetensors --data odd.rec
is "$(field "$T/out" 1)" 1 "... does not count"
printf '1\t99\ta.png\n' >none.lst && im2rec -o none.rec none.lst odd
status 1 "labels of another set alone" pworker --eval w-0003.safetensors --data none.rec
like "$T/err" '^pworker: no record has a label below ' "... is said"
head -c 3000 w-0003.safetensors >cut.safetensors
status 1 "weights cut short" pworker --eval cut.safetensors --data a.rec
like "$T/err" '^pworker: cut\.safetensors: ends inside ' "... are named"
status 1 "nothing at all" pworker --eval w-0003.safetensors </dev/null
like "$T/err" '^pworker: standard input: no images' "... is said"

# Pictures that nobody packed: in a folder, named, in archives, on standard input; each in the order of the place.
p="pworker --predict w-0003.safetensors"
sed 1d piped | cut -f 2,3 >want
find images -type f | sort >all.names
one=$(sed 5q all.names | tail -n 1)
same() { is "$(cut -f 1 "$T/out" | sed 1d | cmp - "$1" && cut -f 2,3 "$T/out" | sed 1d | cmp - "$2" && echo same)" same "$3"; }
status 0 "a folder of pictures" $p images
same all.names want "... by their names, each as from a record"
status 0 "names on standard input" $p <all.names
same all.names want "... the same"
tar cf all.tar -T all.names
status 0 "an archive in a pipe" sh -c "cat all.tar | $p -"
same all.names want "... the same"
status 0 "packed, in a file" sh -c "gzip all.tar && $p all.tar.gz"
same <(sed 's/^/all.tar.gz: /' all.names) want "... is named with the archive"
sed 5q want | tail -n 1 >want1
status 0 "one picture in a pipe" sh -c "cat $one | $p"
same <(echo -) want1 "... is called -"
status 0 "one by its name, whatever that is" sh -c "cp $one 'a	b' && $p 'a	b'"
same <(echo 'a\tb') want1 "... of which a row stays a row"
status 0 "records on standard input" $p <a.rec
is "$(cut -f 2,3 "$T/out" | sed 1d | cmp - want && echo same)" same "... have numbers"
head -c 100 "$one" >cut.png && echo text >text.jpg
status 1 "bad ones among good ones" $p cut.png "$one" gone.png text.jpg /dev/null
same <(echo "$one") want1 "... cost themselves"
is "$(cut -d : -f 2 "$T/err" | paste -s)" " cut.png	 gone.png	 text.jpg	 /dev/null" "... and a line each"
for way in "cat a.rec" "tar c --sort=name images"; do
	status 0 "a score of what comes from $way" sh -c "$way | pworker --eval w-0003.safetensors --batch 16"
	ok "... is that of the records" cmp "$T/out" score
done
status 0 "a score of class folders" pworker --eval w-0003.safetensors --batch 16 images
ok "... likewise" cmp "$T/out" score
status 2 "names have no classes" pworker --eval w-0003.safetensors <all.names
status 1 "no name at all" sh -c "echo | $p"
like "$T/err" '^pworker: no picture came$' "... is said"
status 1 "no record" $p --data /dev/null
like "$T/err" '^pworker: /dev/null: no picture came$' "... is named"
status 2 "records as a picture" $p a.rec
like "$T/err" '^pworker: a\.rec: holds records: say --data a\.rec$' "... are told"
status 2 "pictures and records" $p --data a.rec "$one"

# Weights of a file that does not know its net.
net="--net lenet --variant bn"
pmerge -o w.params --rename '^conv=first_conv' w-0003.safetensors
status 1 "without a net" pworker --eval w.params --data a.rec
status 1 "its arrays called otherwise" pworker --eval w.params $net --data a.rec
like "$T/err" '^pworker: w\.params: lacks .* conv1_weight \(not there\)' "... are named"
status 0 "renamed" pworker --eval w.params $net --start-rename '^first_=' --data a.rec --batch 16
ok "... they score as ever" cmp "$T/out" score
status 1 "of other classes" pworker --eval w-0003.safetensors $net --classes 11 --data a.rec
like "$T/err" 'fc1_weight \(10x128, not 11x128\)' "... both shapes are said"
status 2 "an option of no net" pworker --eval w-0003.safetensors --layers 3 --data a.rec

pmerge -o mean.safetensors w-0002.safetensors w-0003.safetensors
status 0 "new statistics for the mean of two" pworker --statistics mean.safetensors --data a.rec --batch 100 --engine ref
cp "$T/out" ref.safetensors
like "$T/err" '^pworker: mean\.safetensors: statistics of 60 samples$' "... says of how many"
status 0 "from another engine" pworker --statistics mean.safetensors --data a.rec --batch 100
cp "$T/out" cpu.safetensors
status 0 "... the same" pmerge --diff --tolerance 1e-5 ref.safetensors cpu.safetensors
is "$(pmerge --diff mean.safetensors cpu.safetensors | sed 1d | cut -f 1,2 | sed 's/_moving_[a-z]*//' | sort -u | paste -sd,)" \
	"bn1	numbers,bn2	numbers" "nothing else is changed"
status 0 "they are weights as any" pworker --eval cpu.safetensors --data a.rec
status 0 "of a few batches" pworker --statistics w-0003.safetensors --data a.rec --steps 2 --batch 16
like "$T/err" 'statistics of 32 samples$' "... no more are read"
cp "$T/out" few.safetensors
is "$(pmerge --list few.safetensors | grep -c :momentum)" "$(pmerge --list w-0003.safetensors | grep -c :momentum)" \
	"... and the optimizer's state stays"
status 1 "no records" pworker --statistics mean.safetensors --data gone.rec
# A NaN, the last number of the last array.
pmerge --no-state -o bad.safetensors w-0003.safetensors 2>/dev/null
printf '\0\0\300\177' | dd of=bad.safetensors bs=1 seek=$(($(wc -c <bad.safetensors) - 4)) conv=notrunc 2>/dev/null
for way in --eval --predict --statistics "--net lenet --variant bn --start" "--net lenet --variant bn --resume" \
	"--net lenet --variant bn --eval"; do
	# shellcheck disable=SC2086
	status 1 "weights that are no numbers: $way" pworker $way bad.safetensors --data a.rec --batch 20
	like "$T/err" "^pworker: bad\.safetensors: tensor 'bn2_moving_var' holds NaN or infinite numbers\$" "... are refused by name"
done
# Weights that are numbers, and pictures too large for them.
cat >full.lua <<'END'
return softmax{fc{data(), 10, name = "fc1"}}
END
pworker --net ./full.lua --shape 3x32x32 --data a.rec --batch 20 --lr 1e-6 --steps 1 --save full >/dev/null 2>&1
full=$(echo full-*)
pmerge --no-state -o large.safetensors "$full" && printf '\377\377\177\177' |
	dd of=large.safetensors bs=1 seek=$(($(wc -c <large.safetensors) - 100)) conv=notrunc 2>/dev/null
status 1 "probabilities that are no numbers" pworker --predict large.safetensors --data a.rec --batch 20
odd=$(grep -c '^pworker: [0-9]*: its probabilities are no numbers$' "$T/err")
ok "... are named" test "$odd" -gt 50
is "$(sed 1d "$T/out" | grep -vc nan)" $((n - odd)) "... and make no row"
status 1 "nor a score" pworker --eval large.safetensors --data a.rec --batch 20
like "$T/err" "^pworker: $odd samples have probabilities that are no numbers\$" "... which says of how many"
status 1 "pmerge looks all the same" pmerge --verify bad.safetensors
done_testing
