#!/usr/bin/env bash
# pworker_classes.t - names of classes: checkpoints store them, --eval and --val match them, --predict prints them.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1

# Grey images, 28x28: the class is where a bar is.
make_class() { # FOLDER ROW
	mkdir -p "$1"
	for i in 1 2 3 4 5 6 7 8; do
		perl -e 'srand $ARGV[0]; print "P5 28 28 255\n"; for $y (0..27) { for (0..27) {
			print chr(int(rand 90) + (int($y / 7) == $ARGV[1] ? 160 : 0)) } }' $i "$2" >"$1/$i.pgm"
	done
}
make_class all/ant 0; make_class all/bee 1; make_class all/cow 2; make_class all/dog 3
mkdir some more && cp -r all/cow all/dog some && cp -r all/bee more && cp -r all/ant more/emu
im2rec -q all -o all.rec && im2rec -q some -o some.rec && im2rec -q more -o more.rec || exit 1
pworker --net mlp --classes 4 --data all.rec --batch 8 --epochs 12 --save w >log 2>err || exit 1
w=$(echo w-*12.safetensors)
score() { sed -n 2p out | cut -f 1,3; }

status 0 "--eval scores records" pworker --eval "$w" --data all.rec
is "$(score)" "32	1.000000" "the net has learned the classes"
status 0 "--eval scores records of two of the classes" pworker --eval "$w" --data some.rec
is "$(score)" "16	1.000000" "classes of records are matched by name"
status 0 "--eval scores folders of two of the classes" pworker --eval "$w" some
is "$(score)" "16	1.000000" "folders are matched by name"
status 2 "--eval refuses records with another class" pworker --eval "$w" --data more.rec
is "$(cat err)" "pworker: more.rec: class 'emu' is unknown to the weights, which have ant, bee, cow, dog" \
	"the error names the class and those of the weights"
status 1 "--eval leaves out images of another folder" pworker --eval "$w" more
is "$(cat err)" "pworker: more/emu/1.pgm: its folder emu is none of the classes ant, bee, cow, dog; all such images are left out" \
	"the message names the folder and the classes, once"
is "$(score)" "8	1.000000" "images of the other folder count"
mkdir foreign foreign/emu
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cp more/emu/1.pgm foreign/emu/$i.pgm; done
status 1 "--eval refuses images none of which has a class" pworker --eval "$w" foreign
is "$(grep -c "its folder emu" err)" 1 "the error names the folder once"
cp some.rec plain.rec
status 0 "records without names have the numbers of the weights" pworker --eval "$w" --data plain.rec
is "$(score)" "16	0.000000" "as numbers, these two classes are the first two"
is "$(cat err)" "pworker: plain.rec: has no names of classes, so label 0 counts as ant; pack them with names, or copy their .labels file" \
	"pworker says that labels count as classes by number"
status 0 "records in a pipe have the numbers of the weights" pworker --eval "$w" --data - <some.rec
like err "^pworker: -: has no names of classes, so label 0 counts as ant;" "pworker says so of a pipe, too"
status 0 "--eval of records with names" pworker --eval "$w" --data some.rec
is "$(cat err)" "" "says nothing about names"

status 1 "--eval of a folder without class folders is refused" pworker --eval "$w" some/cow
is "$(tail -n 1 err)" "pworker: no image has a class; name the folder whose folders are the classes, or a .lst" \
	"the last line says what to name"
status 0 "--predict prints names" pworker --predict "$w" some
is "$(head -n 1 out)" "id	class	probability	name	label" "names of classes have a column of their own"
is "$(sed 1d out | cut -f 2,4,5 | uniq)" "2	cow	cow
3	dog	dog" "the columns have the name of the class and that of the folder"
mkdir mixed "mixed/an ant" && cp some/cow/1.pgm mixed/1.pgm && cp some/cow/1.pgm "mixed/an ant"
mkdir mixed/ant && cp -r some/dog mixed/ant/more
tar cf mixed.tar mixed
for images in mixed mixed.tar; do
	pworker --predict "$w" $images >out
	is "$(sed 1d out | cut -f 4,5 | uniq -c | sed 's/^ *//')" "2 cow	-
8 dog	ant" "--predict prints the label that the folder gives in $images, or a hyphen"
done
pworker --predict "$w" --data some.rec >out
is "$(sed 1d out | cut -f 4,5 | sort | uniq -c | sed 's/^ *//')" "8 cow	cow
8 dog	dog" "--predict prints the labels of records, matched by name"
pworker --predict "$w" --data more.rec >out
is "$(head -n 1 out)" "id	class	probability	name" "--predict prints no labels of records with another class"
is "$(sed 1d out | wc -l)" 16 "though it predicts them all"
pworker --predict "$w" --data all.rec --label-at 0 >out
is "$(sed 1d out | cut -f 4,5 | sort -u)" "ant	ant
bee	bee
cow	cow
dog	dog" "--predict prints the labels of all classes"
printf '0\t3\tsome/cow/1.pgm\n1\t-1\tsome/dog/1.pgm\n' >few.lst && im2rec -q few.lst -o few.rec || exit 1
status 0 "--predict reads a list" pworker --predict "$w" few.lst
is "$(sed 1d out | cut -f 1,4,5)" "./some/cow/1.pgm	cow	dog
./some/dog/1.pgm	dog	dog" "the label of a list wins over its folder, which replaces one that is missing"
status 0 "--predict reads records without a class" pworker --predict "$w" --data few.rec
is "$(sed 1d out | cut -f 1,4,5)" "0	cow	dog
1	dog	-" "their label is a hyphen"
printf '0\t9\t2\tsome/cow/1.pgm\n1\t9\t3\tsome/dog/1.pgm\n' >second.lst
im2rec -q second.lst -o second.rec && pworker --net mlp --classes 4 --data second.rec --label-at 1 --start "$w" --batch 2 \
	--epochs 1 --lr 0 --save at1 >log 2>&1 || exit 1
status 0 "--eval finds the class of folders whatever the label of the training records was" pworker --eval at1-0001.safetensors some
is "$(score | cut -f 1)" 16 "all images of the folders count"
status 1 "--label-at beyond the only label of a folder is refused" pworker --eval at1-0001.safetensors --label-at 1 some
status 0 "--predict finds the label of a list where it was in training" pworker --predict at1-0001.safetensors second.lst
is "$(sed 1d out | cut -f 1,2)" "./some/cow/1.pgm	2
./some/dog/1.pgm	3" "both images of the list are predicted"

cp -r mixed/ant some/bee
status 0 "--eval prints a confusion matrix" pworker --eval "$w" --confusion some
is "$(cat out | sed '1,2d')" "
class	samples	predicted	precision	recall
ant	0	0	-	-
bee	8	0	-	0.000000
cow	8	8	1.000000	1.000000
dog	8	16	0.500000	1.000000

label	ant	bee	cow	dog
ant	0	0	0	0
bee	0	0	0	8
cow	0	0	8	0
dog	0	0	0	8" "--confusion lists precision and recall of each class, by name"
rm -r some/bee

status 0 "options may follow operands" pworker --predict "$w" some/cow/1.pgm --top 2 some/dog/1.pgm
is "$(sed 1d out | wc -l)" 4 "--top between two images is an option"
pworker --predict "$w" some/cow/1.pgm -- some/dog/1.pgm --top >out 2>err
like err '^pworker: --top: ' "after -- all words are operands"

status 0 "--val takes records with two of the classes" pworker --net mlp --classes 4 --data all.rec --val some.rec --batch 8 --epochs 12
is "$(awk -F'\t' '$5 == "validation" { v = $10 } END { print v }' out)" 1.000000 "--val matches classes by name"
status 2 "--val refuses another class" pworker --net mlp --classes 4 --data all.rec --val more.rec
like err "^pworker: more\.rec: class 'emu' is unknown to the training records, which have ant," "the error names the class"
status 0 "--resume goes on with two of the classes" pworker --net mlp --classes 4 --data some.rec --batch 8 --resume "$w" \
	--epochs 13 --save r
ok "the labels of the resumed run stand for the same classes" awk -F'\t' '$5 == "epoch" && $10 < 1 { bad = 1 } END { exit bad }' out
status 0 "the next checkpoint has all names" pworker --predict r-0013.safetensors all/ant/1.pgm
is "$(sed 1d out | cut -f 4)" ant "a checkpoint keeps the names that its records lack"
status 2 "--resume refuses another class" pworker --net mlp --classes 4 --data more.rec --resume "$w"
status 0 "--start takes weights of other classes" pworker --net mlp --classes 4 --data more.rec --batch 8 --start "$w" \
	--epochs 1 --save s
status 0 "weights of --start get the classes of the records" pworker --predict s-0001.safetensors --top 2 all/ant/1.pgm
is "$(sed 1d out | cut -f 4 | sort | tr '\n' ' ')" "- emu " "a class without a name is a hyphen"

printf 'a\tx\nb\nc\nd\n' >all.labels
status 0 "names with control characters are not stored" pworker --net mlp --classes 4 --data all.rec --batch 8 --epochs 1 --save c
is "$(pworker --predict c-0001.safetensors all/ant/1.pgm | head -n 1)" "id	class	probability" "classes with such names are numbers"
printf 'a\xff\nb\nc\nd\n' >all.labels
status 0 "names that are not UTF-8 are not stored" pworker --net mlp --classes 4 --data all.rec --batch 8 --epochs 1 --save u
is "$(pworker --predict u-0001.safetensors all/ant/1.pgm | head -n 1)" "id	class	probability" "predictions are numbers"
is "$(pworker --predict u-0001.safetensors --data plain.rec | cut -f 4 | uniq | tr '\n' ' ')" "label 0 1 " "labels of records are numbers"
pworker --eval u-0001.safetensors --data plain.rec --confusion >out
is "$(tail -n 5 out | cut -f 1 | tr '\n' ' ')" "label 0 1 2 3 " "classes of the confusion matrix are numbers"
is "$(tail -n 4 out | awk -F'\t' '{ for (i = 2; i <= NF; i++) n += $i } END { print n }')" 16 "the confusion matrix counts all samples"

# Classes whose names are numbers, as those of MNIST.
mkdir num && cp -r all/ant num/0 && cp -r all/bee num/1 && cp -r all/cow num/2 && cp -r all/dog num/3
im2rec -q num -o num.rec || exit 1
status 0 "records with numbers as names" pworker --net mlp --data num.rec --val num.rec --batch 8 --epochs 12 --save n
n=n-0012.safetensors
status 2 "--val refuses names where training has numbers" pworker --net mlp --data num.rec --val some.rec
like err "^pworker: some\.rec: class 'cow' is unknown to the training records, which have 0, 1, 2, 3$" "the error of --val names a class"
status 2 "--eval refuses names where the weights have numbers" pworker --eval $n --data some.rec
like err "^pworker: some\.rec: class 'cow' is unknown to the weights, which have 0, 1, 2, 3$" "the error of --eval names a class"
status 1 "--eval refuses a folder of such names" pworker --eval $n some
rm -r num/0 num/1
status 0 "--eval takes folders with numbers" pworker --eval $n num
is "$(score)" "16	1.000000" "folders with numbers are matched by number"
is "$(pworker --predict $n num/2/1.pgm | head -n 1)" "id	class	probability" "predictions have no names that are numbers"
is "$(pworker --predict $n --data more.rec | head -n 1)" "id	class	probability" "predictions have no labels of other classes"
pworker --net mlp --classes 4 --data plain.rec --batch 8 --steps 1 --save o >out 2>err
status 0 "weights without names" pworker --eval o-*.safetensors --data some.rec
like err "^pworker: some\.rec: o-.* has no names of its 4 classes, so its class 0 counts as cow$" "count classes as numbers, with a line"
done_testing
