# pworker_images.t - checkpoints record how images are prepared: evaluation, resuming and pmerge do the same.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1

perl -e 'srand 1; for $i (0..59) { print chr($i % 10), join "", map { chr(int($i % 10 * 25 + rand 6)) } 1..3072 }' >data_batch_1.bin
im2rec -q data_batch_1.bin -o a.rec || exit 1
train() { pworker --net mlp --shape 3x28x28 --data a.rec --batch 16 --lr 0.01 "$@"; }
metadata() { head -c "$(($(od -An -tu8 -N8 "$1") + 8))" "$1"; }
w=w-0002.safetensors
status 0 "pworker trains with a mean image and a scale" train --mean m.bin --scale 0.004 --epochs 3 --save w
like <(metadata $w) '"preprocessing":"resize=0 packed=32 pad=0 fill=255 mirror=0 mean=0,0,0 std=1,1,1 scale=0\.00400000019 mean_image=1"' \
	"a checkpoint has the preprocessing of its images"
is "$(pmerge --list $w | awk -F'\t' '$2 == "mean_image" { print $3, $4 }')" "F32 3x28x28" "a checkpoint has the mean image"
is "$(metadata $w | grep -c 'm\.bin\|a\.rec')" 0 "a checkpoint has no paths"
cp m.bin elsewhere.bin
train --mean elsewhere.bin --scale 0.004 --epochs 2 --save again --read-threads 3 >log 2>&1
ok "another path and other threads give the same bytes" cmp $w again-0002.safetensors

for mode in predict statistics eval; do
	pworker --$mode $w --data a.rec --mean m.bin --scale 0.004 >want 2>/dev/null
	status 0 "pworker --$mode needs no options for images" pworker --$mode $w --data a.rec
	ok "--$mode prepares images as training did" cmp out want
	is "$(grep -c 'was trained with' err)" 0 "--$mode without options for images reports no difference"
done
pworker --predict $w --data a.rec | cut -f 2,3 >rows
tar cf c.tar data_batch_1.bin
for images in data_batch_1.bin c.tar -; do
	pworker --predict $w $images <c.tar | cut -f 2,3 >got
	ok "--predict reads the images of CIFAR-10 in $images" cmp got rows
done
is "$(pworker --predict $w data_batch_1.bin | sed -n 2p | cut -f 1)" "data_batch_1.bin, image 0" "their ids are file and number"
status 0 "an option for images wins over the checkpoint" pworker --eval $w --data a.rec --scale 0.5
is "$(cat err)" "pworker: --scale 0.5: $w was trained with 0.00400000019" \
	"pworker reports an option that differs from training in one line"
ok "an option that differs from training changes the score" sh -c '! cmp -s out want'
perl -e 'srand 2; print "P6 40 60 255\n"; print chr(int rand 256) for 1..7200' >photo.ppm
pworker --predict $w --resize 32 photo.ppm >want
status 0 "pworker --predict resizes an image to the size of the records" pworker --predict $w photo.ppm
ok "--predict without --resize predicts as with the size of the records" cmp out want
mkdir -p folders/0 && cp photo.ppm folders/0
status 2 "--eval refuses CIFAR-10 beside class folders" pworker --eval $w data_batch_1.bin folders
is "$(cat err)" "pworker: data_batch_1.bin and folders: are of different kinds (CIFAR, MNIST, images in class folders); name them one \
at a time" "the error names both paths"
status 2 "--eval refuses a list beside class folders" pworker --eval $w folders a.lst
is "$(cat err)" "pworker: a.lst: a list stands alone" "the error names the list"
status 0 "--resize replaces the size of the records" pworker --predict $w --resize 30 photo.ppm
is "$(cat err)" "pworker: --resize 30: $w was trained with 32" "another size is reported for images outside records"
ok "another size than that of the records changes the prediction" sh -c '! cmp -s out want'
pworker --eval $w --data a.rec --resize 30 >out 2>err
is "$(cat err)" "pworker: --resize 30: $w was trained with 0" "another size is reported for records"
status 0 "pworker trains with a reflected border" train --pad 2 --pad-reflect --rand-crop --epochs 1 --save border
like <(metadata border-0001.safetensors) ' mean_image=0 pad_reflect=1"' "a checkpoint has the reflected border"
train --pad 2 --rand-crop --epochs 1 --save white >log 2>&1
ok "a reflected border trains other weights" sh -c '! cmp -s border-0001.safetensors white-0001.safetensors'
status 0 "--eval takes the reflected border" pworker --eval border-0001.safetensors --data a.rec
is "$(cat err)" "" "--eval with a reflected border reports no difference"
status 0 "--mean-rgb replaces a mean image" pworker --eval $w --data a.rec --mean-rgb 9
is "$(cat err)" "pworker: --mean-rgb 9,9,9: $w was trained with a mean image" "--mean-rgb reports the mean image that it replaces"

status 0 "pworker --resume needs no options for images" train --resume $w --epochs 3 --save resumed
ok "a resumed run ends in the bytes of an undisturbed one" cmp resumed-0003.safetensors w-0003.safetensors
status 0 "pworker --resume accepts another scale" train --resume $w --epochs 3 --scale 0.5
is "$(grep -c "^pworker: --scale 0\.5: $w was trained with 0\.00400000019$" err)" 1 "--resume reports another scale in one line"
status 0 "pworker --start needs no options for images" train --start $w --steps 1 --save start
like <(metadata start-0000-000001.safetensors) 'scale=0\.00400000019 mean_image=1' "a run from --start prepares images as its weights"
status 2 "a mean image of another shape is refused" pworker --net mlp --shape 3x24x24 --data a.rec --start $w --steps 1
like err "^pworker: $w: its mean image has another shape than the net's input 3x24x24; use --mean FILE$" \
	"the error about a mean image's shape suggests --mean"
status 0 "two workers resume without options for images" timeout 120 dlaunch -n 2 -s 1 $(type train >/dev/null && echo pworker) \
	--net mlp --shape 3x28x28 --data a.rec --batch 8 --lr 0.01 --resume $w --epochs 3

train --scale 0.004 --epochs 1 --save plain >log 2>&1
status 1 "pmerge refuses files of other preprocessing" pmerge -o x.safetensors $w plain-0001.safetensors
is "$(cat err)" "pmerge: plain-0001.safetensors: its preprocessing is not that of $w; --force takes the first" \
	"pmerge's error names the file of other preprocessing and suggests --force"
status 0 "pmerge --force accepts files of other preprocessing" pmerge --force -o x.safetensors $w plain-0001.safetensors
like <(metadata x.safetensors) 'scale=0\.00400000019 mean_image=1' "a forced merge has the first file's preprocessing"
perl -0777 -pe 'substr($_, 2000, 1) = chr(1 ^ ord substr $_, 2000, 1)' m.bin >other.bin
train --mean other.bin --scale 0.004 --epochs 1 --save other >log 2>&1
status 1 "pmerge refuses files with other mean images" pmerge -o x.safetensors $w other-0001.safetensors
like err "tensor 'mean_image' differs from that of $w, .*; --force takes the first$" \
	"pmerge's error names the file of another mean image and suggests --force"
status 0 "pmerge --force accepts files with other mean images" pmerge --force -o x.safetensors $w other-0001.safetensors
is "$(pmerge --diff x.safetensors $w | grep -c mean_image)" 0 "a forced merge has the first file's mean image"
status 0 "pmerge merges files of one preprocessing" pmerge -o mean.safetensors $w w-0003.safetensors
pworker --eval mean.safetensors --data a.rec --mean m.bin --scale 0.004 >want 2>/dev/null
pworker --eval mean.safetensors --data a.rec >out 2>/dev/null
ok "a merged file keeps the preprocessing" cmp out want
has() { pmerge --list "$1" | cut -f 2 | grep -cE '^(arg:)?mean_image$'; }
for out in w.params "renamed.safetensors --rename ^fc=layer"; do
	pmerge -o $out $w
	is "$(has ${out%% *})" 0 "pmerge leaves the mean image out of ${out%% *}"
	pmerge --mean-image -o $out $w
	is "$(has ${out%% *})" 1 "pmerge --mean-image keeps the mean image in ${out%% *}"
done
pmerge --drop mean_image -o lacks.safetensors $w
status 2 "--eval refuses weights that lost their mean image" \
	pworker --net mlp --shape 3x28x28 --eval lacks.safetensors --data a.rec
is "$(cat err)" "pworker: lacks.safetensors: was trained with a mean image, which the file lacks; use --mean FILE" \
	"the error about a lost mean image suggests --mean"

cat >r.recipe <<'END'
--mean recipe.bin
END
status 0 "--mean-rgb replaces the mean image of a recipe" pworker @./r.recipe --eval $w --data a.rec --mean-rgb 100
cp "$T/out" want
is "$(pworker --eval $w --data a.rec --mean-rgb 100 2>/dev/null)" "$(cat want)" "the score is that without the recipe"
status 0 "evaluation needs no mean image of a recipe" pworker @./r.recipe --eval $w --data a.rec
is "$(cat "$T/out")" "$(pworker --eval $w --data a.rec)" "evaluation takes the mean image of the weights"
status 2 "evaluation refuses a mean image that is missing" pworker --eval $w --data a.rec --mean recipe.bin
like err "^pworker: --mean: recipe.bin does not exist, and is made from records of training alone$" "the error says when one is made"
ok "evaluation makes no mean image" test ! -e recipe.bin
done_testing
