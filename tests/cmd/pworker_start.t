#!/usr/bin/env bash
# pworker_start.t - what pworker does with --net and --data alone: defaults of the net, sizes and labels of the records.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1 TALLY_SHARE=${TALLY_SHARE:-$TOP/share}

# Images in CIFAR's format, 32x32, and in PNM, 80x80: the class is where a bar is, or how bright the image is.
mkdir c big
perl -e 'srand 1; for $i (0..199) { print chr($i % 10);
	for $at (0..3071) { $row = int($at / 32) % 32; print chr(int(rand 100) + (int($row / 3) == $i % 10 ? 150 : 0)) } }' \
	>c/data_batch_1.bin
for i in 0 1 2 3 4 5 6 7 8 9; do
	mkdir "big/$i"
	perl -e 'srand 1; print "P5 80 80 255\n", join "", map { chr(int($ARGV[0] * 25 + rand 6)) } 1..6400' $i >"big/$i/1.pgm"
	perl -e 'srand 2; print "P5 80 80 255\n", join "", map { chr(int($ARGV[0] * 25 + rand 6)) } 1..6400' $i >"big/$i/2.pgm"
done
im2rec -q c/data_batch_1.bin -o small.rec && im2rec -q big -o big.rec || exit 1
accuracy() { awk -F'\t' '$5 == "epoch" { v = $10 } END { print v }' out; }
last() { awk -F'\t' -v c="$1" '$5 == "step" { v = $c } END { print v }' out; }

for net in mlp lenet resnet; do
	status 0 "pworker --net $net --data needs no other option" pworker --net $net --data small.rec --batch 20 --epochs 8
	ok "$net learns with its own defaults" awk -v a="$(accuracy)" 'BEGIN { exit !(a > 0.5) }'
done
pworker --net googlenet --data small.rec --batch 20 --steps 4 >out 2>err
is "$(awk -F'\t' '$5 == "step" && $9 < 2.6' out | wc -l)" 4 "the loss of googlenet stays near that of equal probabilities"
pworker --net inception-bn --data small.rec --batch 20 --steps 4 >out 2>err
is "$(awk -F'\t' '$5 == "step" && $9 < 2.6' out | wc -l)" 4 "the loss of inception-bn stays near that of equal probabilities"
status 0 "vgg trains with --net and --data" pworker --net vgg --width 64 --data small.rec --batch 10 --steps 4 --save v
is "$(awk -F'\t' '$5 == "step" && $9 < 2.6' out | wc -l)" 4 "the loss of vgg stays near that of equal probabilities"
is "$(grep classes err)" "pworker: small.rec: there are names of 10 classes, so the net has as many; --classes 1000 is the net's own" \
	"the net has the classes of the records, and pworker says so"
is "$(grep images err)" "pworker: small.rec: images are 32x32, so samples are 3x32x32; --shape 3x224x224 is the net's own" \
	"pworker says which shape it chose"
# After a step of no length: how far the probabilities of a class are apart.
pworker --net vgg --layers 19 --width 64 --data small.rec --batch 10 --steps 1 --lr 1e-9 --save deep >out 2>err
pworker --predict deep-0000-000001.safetensors --data small.rec --top 10 |
	awk -F'\t' 'NR > 1 && $2 == 3 { s += $3; q += $3 * $3; n++ } END { print sqrt(q / n - s * s / n / n) }' >apart
ok "the images' differences reach the scores of 19 layers without batch norm" awk '{ exit !($1 > 0.0004) }' apart
status 0 "the same options resume" pworker --net vgg --width 64 --data small.rec --batch 10 --steps 5 \
	--resume "$(echo v-*.safetensors)"
cp small.rec nameless.rec && cp small.idx nameless.idx 2>/dev/null
status 0 "records without names resume with the classes of the weights" pworker --net vgg --width 64 --data nameless.rec \
	--batch 10 --steps 5 --resume "$(echo v-*.safetensors)"
status 2 "a pattern of --init that matches nothing is refused" pworker --net lenet --data small.rec --batch 10 --steps 1 \
	--init 'msra,fx*=normal:0.1'
like err "^pworker: --init: 'fx\*' is the name of no array of the net$" "the line names the pattern"
status 0 "--classes takes precedence" pworker --net lenet --classes 30 --data small.rec --batch 10 --steps 1
is "$(grep classes err)" "" "nothing is said about classes with --classes"
like err '^pworker: small\.rec: images have colours, and samples are gray; --shape 3x28x28 keeps them$' \
	"pworker says that a net drops colours"
like err '^pworker: small\.rec: of images of 32x32 the middle 28x28 is used; --resize 28, --rand-crop or --shape' \
	"pworker says that images are cropped"
status 0 "--shape decides on both" pworker --net lenet --shape 1x28x28 --data small.rec --batch 10 --steps 1
is "$(cat err)" "" "nothing is said about colours and size with --shape"
status 0 "a mean alone does not scale pixels" pworker --net mlp --shape 1x28x28 --data small.rec --batch 10 --steps 1 --mean-rgb 99
like err "^pworker: mlp: pixels span 255 after the mean is subtracted, .*; add --std-rgb 58 or --scale 0.00390625$" \
	"pworker warns about it"
status 1 "--resume without --net refuses a missing file" pworker --data small.rec --resume nosuch.safetensors
is "$(cat err)" "pworker: nosuch.safetensors: open: No such file or directory" "the error names the file, not the net"
status 0 "a net that does not accept 32x32 trains" pworker --net alexnet --data small.rec --batch 10 --steps 1
like err 'so samples are 3x64x64; --shape 3x227x227 is|so samples are 3x64x64; --shape 3x224x224 is' \
	"samples have twice the size of the images"
ok "the first loss of alexnet shows that outputs depend on the image" \
	awk -v loss="$(last 9)" 'BEGIN { exit !(loss < log(10) - 0.002 || loss > log(10) + 0.002) }'
like err 'images of 32x32 are resized to 64, the side of the samples' "pworker says that images are resized"
status 0 "--lr and --init take precedence over the net" pworker --net mlp --data small.rec --batch 20 --steps 1 --lr 0.5 \
	--init uniform:0.5
is "$(last 12)" 0.5 "the rate is that of --lr"
pworker --net mlp --data small.rec --batch 20 --steps 1 >out 2>err
like out '	0\.0199999996	' "the rate without --lr is the net's"
pworker --net mlp --shape 3x64x64 --data big.rec --batch 10 --epochs 5 >out 2>err
is "$(last 12)" 0.00127604161 "the rate of mlp falls with the number of pixels"
ok "the loss of mlp stays low on large images" awk -F'\t' '$5 == "step" && !($9 < 20) { bad = 1 } END { exit bad }' out
pworker --net mlp --data small.rec --batch 20 --steps 1 --optimizer adam >out 2>err
like out '	0\.00100000005	' "the rate of adam is its own"

status 0 "images of more than twice the samples are trained on" pworker --net lenet --data big.rec --batch 10 --epochs 10
is "$(grep -v Epoch err)" \
	"pworker: big.rec: images of 80x80 are resized to 28, the side of the samples; --shape or --resize change that" \
	"pworker says that it resizes them"
pworker --net lenet --data big.rec --batch 10 --steps 2 --save w >out 2>err
status 0 "--eval resizes them, too" pworker --eval "$(echo w-*.safetensors)" --data big.rec
cp out own && pworker --eval "$(echo w-*.safetensors)" --data big.rec --resize 28 >out 2>err
ok "--eval evaluates as with --resize 28" cmp own out
status 0 "--resize takes precedence" pworker --net lenet --data big.rec --batch 10 --steps 1 --resize 40
is "$(cat err)" "" "nothing is said about --resize"
status 2 "images that are too small for --resize are refused" pworker --net lenet --data big.rec --resize 20
is "$(cat err)" "pworker: big.rec: images of 80x80 are too small for samples of 1x28x28; use --resize 28" \
	"the error names the option"

status 0 "a run crops a small part at the centre of the images" pworker --net lenet --shape 3x50x50 --data big.rec --batch 10 --steps 1
is "$(cat err)" "pworker: big.rec: of images of 80x80 the middle 50x50 is used; --resize 50, --rand-crop or --shape change that" \
	"pworker reports such a crop with --shape, too"
status 0 "a run crops less than half of the side at random" pworker --net lenet --data big.rec --batch 10 --steps 1 --rand-crop
is "$(cat err)" "pworker: big.rec: of images of 80x80 a random 28x28 is used; --resize 28 or --shape change that" \
	"pworker reports such a random crop"
status 0 "a run crops more than half of the side at random" \
	pworker --net lenet --shape 1x40x40 --data big.rec --batch 10 --steps 1 --rand-crop
is "$(cat err)" "" "a larger random crop is not reported"
train="pworker --net lenet --shape 3x24x24 --data small.rec --batch 20"
status 0 "a run validates on images of another size" $train --steps 1 --val big.rec
is "$(cat err)" "pworker: big.rec: images are 80x80, and those of small.rec have a shorter side of 32; --resize 32 makes them alike" \
	"images of another size are reported"
status 0 "--resize makes the sizes equal" $train --steps 1 --val big.rec --resize 32
is "$(cat err)" "" "images of one size are not reported"
status 2 "images to validate on that are too small are refused" pworker --net lenet --shape 3x64x64 --data big.rec --val small.rec
is "$(tail -n 1 err)" "pworker: small.rec: images of 32x32 are too small for samples of 3x64x64; use --resize 64" \
	"the error says which images are too small"
is "$(cat out)" "" "small images to validate on are refused before the first step"
status 0 "--eval evaluates images of another size" pworker --eval "$(echo w-*.safetensors)" --data big.rec
is "$(cat err)" "" "--eval reports no size if training resized"
$train --steps 1 --save s >out 2>err
status 0 "--eval evaluates larger images" pworker --eval s-*.safetensors --data big.rec
is "$(cat err)" "pworker: big.rec: images are 80x80, and $(echo s-*.safetensors) was trained on images \
with a shorter side of 32; --resize 32 makes them alike" \
	"--eval reports the other size"
status 0 "--eval runs with the proposed --resize" pworker --eval s-*.safetensors --data big.rec --resize 32
is "$(cat err)" "" "--eval with the proposed --resize reports nothing"

for i in 0 1 2 3 4 5 6 7 8 9; do
	printf '%d\t%d\tbig/%d/1.pgm\n%d\t-1\tbig/%d/2.pgm\n' $i $i $i 1$i $i
done >half.lst
im2rec -q half.lst . -o half.rec || exit 1
status 1 "records without a class are left out" pworker --net lenet --data half.rec --val half.rec --batch 10 --epochs 1
is "$(grep -o 'left out.*\|label -1 is not a class.*' err | sort | uniq -c | sed 's/^ *//')" "4 label -1 is not a class from 0 to 9
2 left out 10 records" "pworker names one of each batch, and counts them in training and validation"

status 2 "more classes in .labels than the net has are refused" pworker --net lenet --classes 4 --data big.rec
is "$(tail -n 1 err)" "pworker: big.rec: has 10 classes, more than the net's 4; use --classes 10" "the error says how many"
status 2 "more classes to validate on are refused" pworker --net lenet --classes 5 --data small.rec --val big.rec
for part in rec idx; do cp big.$part few.$part; done
head -n 4 big.labels >few.labels
status 2 "fewer names than the records have classes are refused" pworker --net lenet --data few.rec
is "$(tail -n 1 err)" "pworker: few.rec: 12 of 20 records have labels beyond the 4 names of its classes, up to 9; \
add the missing names to its .labels file" "the error counts them, and says what to do"
is "$(cat out)" "" "labels beyond the names are refused before the first step"
for part in rec idx; do cp big.$part all.$part; done
printf '%s\n' j a i b h c g d f e >all.labels
printf '%s\n' a b c d >few.labels
status 2 "fewer names than the records to validate on have classes are refused" pworker --net lenet --data all.rec --val few.rec
like err '^pworker: few\.rec: 12 of 20 records have labels beyond the 4 names of its classes' "labels that names map are counted, too"
mv big.labels big.names
status 2 "labels beyond the classes are refused" pworker --net lenet --classes 4 --data big.rec
is "$(tail -n 1 err)" "pworker: big.rec: 12 of 20 records have labels beyond the net's 4 classes, up to 9; use --classes 10" \
	"the error counts them"
is "$(cat out)" "" "labels beyond the classes are refused before the first step"

echo 'return softmax{fc{relu{fc{flatten(data(3, 32, 32)), 8}}, 10}}' >own.lua
status 0 "a net of your own trains" pworker --net ./own.lua --data small.rec --batch 20 --steps 1 --lr 1e-5
is "$(cat err)" "pworker: ./own.lua: pixels span 255, and the net has no batch norm to scale them; add --std-rgb 58 or --scale 0.00390625" \
	"pworker warns about raw pixels"
for scale in "--scale 1" "--std-rgb 1" "--scale 0.9"; do
	pworker --net mlp --data big.rec --batch 10 --steps 1 $scale >out 2>err
	like err "^pworker: mlp: pixels span (255|230), and the net has no batch norm" "pworker warns about raw pixels with $scale"
done
pworker --net mlp --data small.rec --batch 10 --steps 1 --scale 0.01 >out 2>err
is "$(grep -c span err)" 0 "pworker does not warn with --scale 0.01"
mkdir other && mkdir other/a other/b && cp big/0/1.pgm other/a && cp big/9/1.pgm other/b && im2rec -q other -o other.rec
mv big.names big.labels
status 1 "records with other classes are refused together" pworker --net lenet --data big.rec,other.rec --steps 1
like err '^pworker: other\.rec: its classes are not those of big\.rec; pack both with the same classes$' "the error names both"
# A checkpoint names its net and the net's options.
metadata() { head -c "$(($(od -An -tu8 -N8 "$1") + 8))" "$1"; }
train="pworker --data small.rec --batch 20 --lr 0.01"
status 0 "a net with options trains" $train --net resnet --layers 8 --variant small --shape 3x24x24 --epochs 2 --save n
like <(metadata n-0001.safetensors) '"net":"resnet\\nlayers=8\\nvariant=small"' "the checkpoints have name and options of the net"
status 0 "--resume needs neither --net nor its options" $train --resume n-0001.safetensors --epochs 2 --save m
ok "the resumed run ends in the bytes of an undisturbed one" cmp n-0002.safetensors m-0002.safetensors
like out ' net=resnet .* net_options=layers=8,variant=small ' "the log of the resumed run has name and options of the net"
status 0 "--start needs neither --net nor its options" $train --start n-0002.safetensors --steps 1
like err '^pworker: all [0-9]* arrays start from the file$' "--start without --net starts with all arrays"
status 0 "--start of the same net takes its options" $train --net resnet --start n-0002.safetensors --steps 1
like err '^pworker: all [0-9]* arrays start from the file$' "--start of the same net starts with all arrays"
status 0 "an option of the net wins over that of the file" $train --layers 14 --start n-0002.safetensors --steps 1
like err '^pworker: --layers 14: n-0002\.safetensors was trained with 8$' "an option of the net that differs is reported"
status 0 "--start takes what fits another net" $train --net resnet --variant preact --layers 110 --start n-0002.safetensors --steps 1
like err 'all but [0-9]+: .* \.\.\.$' "a long list of arrays that do not fit is cut, with their number"
pmerge --rename 'fc1_=last_' n-0002.safetensors >renamed.safetensors
is "$(metadata renamed.safetensors | grep -c '"net"')" 0 "weights with other names of arrays name no net"
cp "$TALLY_SHARE/nets/mlp.lua" mine.lua && cp "$TALLY_SHARE/nets/parts.lua" .
pworker --net ./mine.lua --data small.rec --batch 20 --steps 1 --save own >log 2>&1
is "$(metadata own-0000-000001.safetensors | grep -c '"net"\|mine')" 0 "a script of one's own is not named: it has a path"

done_testing
