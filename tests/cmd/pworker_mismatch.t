#!/usr/bin/env bash
# pworker_mismatch.t - images, labels and options that do not fit each other or the weights: a line says so.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1

# Two classes of colour images whose sides are SIZE.
make_images() { # FOLDER SIZE
	mkdir -p "$1/ant" "$1/bee"
	for i in 1 2 3 4 5 6 7 8; do
		perl -e 'srand $ARGV[0]; print "P6 $ARGV[1] $ARGV[1] 255\n", map { chr rand 256 } 1 .. 3 * $ARGV[1] ** 2' \
			"$i" "$2" >"$1/ant/$i.ppm"
		cp "$1/ant/$i.ppm" "$1/bee"
	done
	im2rec -q "$1" -o "$1.rec" || exit 1
}
make_images small 32 && make_images large 112
train="pworker --net mlp --batch 4 --steps 1"
size="images are 112x112, and w-0000-000001.safetensors was trained on images with a shorter side of 32; --resize 32 makes them alike"
$train --shape 3x28x28 --data small.rec --save w >log 2>err || exit 1
w=w-0000-000001.safetensors

status 0 "--start takes images of another size" $train --start $w --data large.rec
like err "^pworker: large\.rec: $size$" "--start says that the images have another size"
status 0 "--start takes images of the same size" $train --start $w --data small.rec
is "$(grep -c 'images are' err)" 0 "--start says nothing about images of the same size"
$train --shape 3x28x28 --data small.rec --pad 4 --rand-crop --save b >log 2>err
status 0 "--eval takes weights trained with a border" pworker --eval b-0000-000001.safetensors --data large.rec
like err "^pworker: large\.rec: images are 112x112, and b-0000-000001\.safetensors was trained on images with a shorter side of 32" \
	"--eval says that the images have another size"
status 0 "--start resizes images" $train --start $w --data large.rec --resize 32
is "$(grep -c 'images are' err)" 0 "--start says nothing about images that are resized"
status 0 "--resume takes images of another size" pworker --batch 4 --resume $w --data large.rec --steps 2
like err "^pworker: large\.rec: $size$" "--resume says that the images have another size"
status 0 "--eval takes a pipe of images of another size" sh -c "cat large.rec | pworker --eval $w --data -"
like err "^pworker: -: $size$" "--eval says that the images of a pipe have another size"
status 0 "a pipe of large images trains" sh -c "cat large.rec | $train --data - --epochs 3"
like err "^pworker: -: images of 112x112 are resized to 28, the side of the samples; --shape or --resize change that$" \
	"the images of a pipe are resized as those of a file"
like err "^pworker: --epochs 3: a pipe is read once, so there is one epoch$" "the line says how many epochs a pipe has"
status 0 "images of two sizes train" $train --shape 3x28x28 --data small.rec,large.rec
like err "of images of up to 112x112 the middle 28x28 is used; --resize 28, --rand-crop or --shape change that$" \
	"the line has the largest of the sizes"
$train --data small.rec --save g >log 2>err
status 0 "--start takes colour images to gray weights" $train --start g-0000-000001.safetensors --data small.rec
like err "^pworker: small\.rec: images have colours, and g-0000-000001\.safetensors takes gray ones$" "the line says what is lost"

# Names of classes.
cp small.rec plain.rec
unnamed="^pworker: plain\.rec: has no names of classes, so label 0 counts as ant; pack them with names, or copy their .labels file$"
for options in "--data small.rec,plain.rec" "--data plain.rec --val small.rec" "--data small.rec --val plain.rec" \
	"--data plain.rec --start $w"; do
	status 0 "$options trains" $train --shape 3x28x28 $options
	like err "$unnamed" "$options: the line says which records have no names"
done
for mode in --eval --predict; do
	status 0 "$mode takes records one of which has no names" pworker $mode $w --data small.rec,plain.rec
	like err "$unnamed" "$mode names the records without names"
done
status 0 "--data plain.rec trains" $train --shape 3x28x28 --data plain.rec
is "$(grep -c names err)" 0 "no line is about names where nobody has any"
printf 'ant\r\nbee\r\n' >plain.labels
status 0 "names with CR LF are those without" pworker --eval $w --data plain.rec
is "$(cat err)" "" "the CR is no part of a name"
printf 'ant\n\nbee\n' >plain.labels
status 1 "an empty name is refused" $train --data plain.rec
is "$(cat err)" "pworker: plain.labels: line 2 is empty, and class 1 has no name" "the line counts"
printf 'ant\nant\n' >plain.labels
status 1 "a name twice is refused" $train --data plain.rec
is "$(cat err)" "pworker: plain.labels: ant: listed twice" "the line has the name"
printf 'ant\0\nbee\n' >plain.labels
status 1 "a zero byte among the names is refused" $train --data plain.rec
is "$(cat err)" "pworker: plain.labels: a zero byte; save the names as UTF-8, not as UTF-16" "the line says so"

# Normalization of pixels.
status 0 "means and deviations of pixels from 0 to 1 train" $train --shape 3x28x28 --data small.rec \
	--mean-rgb 0.485,0.456,0.406 --std-rgb 0.229,0.224,0.225
like err "^pworker: --std-rgb: pixels are 0 to 255, so use 255 times these numbers: --mean-rgb 123\.675,116\.28,103\.53 --std-rgb \
58\.395,57\.12,57\.375$" \
	"the line has the numbers to use"
status 0 "pixels that are divided twice train" $train --shape 3x28x28 --data small.rec --std-rgb 58 --scale 0.004
like err "^pworker: mlp: pixels span only 0\.0176; leave out --std-rgb or --scale$" "the line says what pixels span"
for options in "--std-rgb 58" "--scale 0.004" "--mean-rgb 128 --std-rgb 58,57,57"; do
	$train --shape 3x28x28 --data small.rec $options >out 2>err
	is "$(grep -c 'pixels' err)" 0 "no line is about pixels with $options"
done
pmerge $w -o w.params >/dev/null 2>&1
status 0 "--eval takes weights of another format" pworker --eval w.params --net mlp --shape 3x28x28 --classes 2 --data small.rec
like err "^pworker: w\.params: does not say how its images were made, so pixels are 0 to 255; --mean-rgb, --std-rgb and --scale \
change that$" \
	"the line says that the normalization is unknown"
status 0 "--eval with --std-rgb" pworker --eval w.params --net mlp --shape 3x28x28 --classes 2 --std-rgb 58 --data small.rec
is "$(grep -c 'does not say' err)" 0 "no line says so with --std-rgb"

# The label that is the class.
awk 'BEGIN { for (i = 0; i < 16; i++) printf "%d\t%d\t%d\tsmall/%s/%d.ppm\n", i, i % 2, i / 8, i < 8 ? "ant" : "bee", i % 8 + 1 }' >two.lst
im2rec -q two.lst . -o two.rec || exit 1
status 0 "--label-at chooses the class" $train --label-at 1 --data two.rec --save l
status 0 "--eval takes weights of another label" pworker --eval l-0000-000001.safetensors --data two.rec
cp out own
status 0 "--eval with the same --label-at" pworker --eval l-0000-000001.safetensors --data two.rec --label-at 1
ok "--eval takes the label that the weights were trained with" cmp out own
is "$(cat err)" "" "no line is about the same label"
status 0 "--eval with another --label-at" pworker --eval l-0000-000001.safetensors --data two.rec --label-at 0
is "$(cat err)" "pworker: --label-at 0: l-0000-000001.safetensors was trained with 1" "a line is about another label"
status 0 "--resume takes the label that is the class" pworker --resume l-0000-000001.safetensors --batch 4 --steps 4 --data two.rec --save m
$train --steps 4 --label-at 1 --data two.rec --save n >log 2>&1
ok "the resumed run ends in the bytes of an undisturbed one" cmp m-0001.safetensors n-0001.safetensors
cp l-0000-000001.safetensors q-0000-000001.safetensors
status 0 "--resume-last takes the label that is the class" $train --steps 4 --data two.rec --save q --resume-last
ok "the run of --resume-last ends in the same bytes" cmp q-0001.safetensors n-0001.safetensors

# A prefix that is in use.
status 0 "a second run with the same prefix trains" $train --shape 3x28x28 --data small.rec --save w
like err "^pworker: --save w: w-0000-000001\.safetensors is of another run, which --resume-last would continue; this run replaces \
its files epoch by epoch$" \
	"the line names the newest checkpoint of the other run"
status 0 "a run resumed before the newest checkpoint trains" pworker --batch 4 --resume l-0000-000001.safetensors --steps 2 \
	--data two.rec --save m
like err "^pworker: --save m: m-0001\.safetensors is of another run" "the line names the checkpoint that is newer"
status 0 "--resume-last continues it" pworker --net mlp --batch 4 --shape 3x28x28 --data small.rec --save w --resume-last --steps 2
is "$(grep -c 'another run' err)" 0 "--resume-last says nothing of another run"

# Outputs that are inputs.
cp small.rec x.rec && cp small.labels x.labels && cp w-0000-000001.safetensors y.safetensors
for option in --log --trace; do
	for input in x.rec x.labels y.safetensors; do
		cp $input before
		status 2 "$option $input is refused" pworker --net mlp --shape 3x28x28 --batch 4 --steps 1 --data small.rec,x.rec \
			--start y.safetensors $option $input
		is "$(cat err)" "pworker: $option: $input is also an input, which would be lost; name another file" "$option names $input"
		ok "$option leaves $input alone" cmp before $input
	done
done

# A curve that ends before the epochs do.
status 0 "a run ends with its curve" $train --shape 3x28x28 --data small.rec --steps 8 --lr 0.1,cosine@2
is "$(grep -c -e '--lr' err)" 0 "no line is about a curve whose end --steps may reach"
status 0 "a curve ends before the run" pworker --net mlp --shape 3x28x28 --batch 4 --data small.rec --epochs 3 --lr 0.1,cosine@2
like err "^pworker: --lr: the rate is 0 from epoch 2 on, and --epochs is 3; end the curve at @3$" "the line says where to end it"
done_testing
