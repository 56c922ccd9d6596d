# im2rec_options.t - options of MXNet's tools mean the same; lists are made.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1
# Prints the messages without progress.
said() { grep -vE '^im2rec: [0-9]+ images, ' "$1"; }

pictures images 40 1 || exit 1
shape() { im2rec "$@" images | im2rec --list -v - | cut -f 5,7 | sort -u | tr '\t\n' '  '; }
is "$(shape)" "png 32x32x3 " "im2rec copies images unchanged by default"
is "$(shape --resize 48)" "png 48x48x3 " "--resize 48 scales images to 48 pixels"
is "$(shape --resize 48 --encoding .jpg)" "jpg 48x48x3 " "--encoding .jpg, MXNet's name, writes JPEG"
is "$(shape --resize 48 --encoding jpg --color 0)" "jpg 48x48x1 " "--color 0 writes images of one channel"
is "$(shape --color grey)" "png 32x32x1 " "--color grey writes images of one channel"
is "$(shape --color 1)" "png 32x32x3 " "--color 1 writes images of three channels"
is "$(shape --color -1)" "png 32x32x3 " "--color -1 keeps the channels of images"
is "$(im2rec --resize 48 --encoding jpg --quality 30 images | wc -c)" \
	"$(im2rec --resize 48 --encoding .jpg --quality 30 --inter-method 2 images | wc -c)" "--inter-method 2 is the default"
is "$(im2rec --resize 20 --inter-method area images | cksum)" "$(im2rec --resize 20 --inter-method 3 images | cksum)" \
	"--inter-method area means --inter-method 3"
isnt() { ok "$3" test "$1" != "$2"; }
isnt "$(im2rec --resize 20 --inter-method nearest images | cksum)" "$(im2rec --resize 20 images | cksum)" \
	"--inter-method nearest differs from the default"
ok "a lower --quality takes fewer bytes" test "$(im2rec --resize 48 --encoding jpg --quality 30 images | wc -c)" -lt \
	"$(im2rec --resize 48 --encoding jpg --quality 95 images | wc -c)"
# Columns FROM to TO - 1 of four rows of seven grey pixels.
columns() { # FROM TO
	mkdir -p "columns$1$2/c" && perl -e 'my ($from, $to) = @ARGV; binmode STDOUT; printf "P5 %d 4 255\n", $to - $from;
		for my $y (0 .. 3) { print chr(10 * $y + 20 * $_) for $from .. $to - 1 }' "$1" "$2" >"columns$1$2/c/1.pgm"
	echo "columns$1$2"
}
odd=$(columns 0 7)
is "$(im2rec --center-crop "$odd" | cksum)" "$(im2rec "$(columns 1 5)" | cksum)" "--center-crop rounds an odd margin down"
is "$(im2rec --center-crop --crop-rounding even "$odd" | cksum)" "$(im2rec "$(columns 2 6)" | cksum)" \
	"--crop-rounding even rounds half of an odd margin to an even number"
is "$(im2rec --num-thread 3 images | cksum)" "$(im2rec -j 1 images | cksum)" "--num-thread means -j"
is "$(im2rec --pass-through images | cksum)" "$(im2rec images | cksum)" "--pass-through is the default"
status 1 "--max-pixels leaves out larger images" im2rec -o none.rec --max-pixels 1000 images
is "$(said err | wc -l)" 40 "im2rec writes one line per image over --max-pixels"
# An image of 8200x8200 is over the default limit of pixels, and over that of bytes if --max-bytes lowers it.
shrunk() { im2rec --resize 32 "$@" | im2rec --list -v - | cut -f 7; }
find images -name '*.png' | head -n 1 | awk '{ print "0\t0\t" $0 }' >one.lst
status 1 "im2rec exits with status 1 if --resize exceeds the default limit of pixels" \
	im2rec --resize 8200 -o big.rec one.lst
like err 'png: resized to 8200x8200 it has more than 67108864 pixels; --max-pixels raises this limit$' \
	"im2rec names an image that --resize takes over the limit"
for kind in png jpg; do
	status 0 "--max-pixels raises the limit for a resized $kind" \
		im2rec --resize 8200 --color grey --inter-method nearest --encoding $kind \
		--max-pixels 70000000 -o big.rec one.lst
	is "$(im2rec --list -v big.rec | cut -f 7)" 8200x8200x1 "--list reads the size in the header of a large $kind"
	status 1 "--verify applies the default limit of pixels to a $kind" im2rec --verify -q big.rec
	like err 'more than 67108864 pixels; --max-pixels raises this limit$' "--verify names the option for a large $kind"
	status 0 "--verify accepts a large $kind with --max-pixels" im2rec --verify -q --max-pixels 70000000 big.rec
	rm -rf big big.lst && im2rec --extract -o big big.rec
	is "$(shrunk big.lst big 2>err)" "" "im2rec leaves out a $kind over the default limit of pixels"
	like err '8200x8200 is more than 67108864 pixels; --max-pixels raises this limit$' \
		"im2rec names a $kind over the default limit of pixels"
	is "$(shrunk --max-pixels 70000000 big.lst big)" 32x32x1 "im2rec packs a large $kind with --max-pixels"
	is "$(shrunk --max-pixels 70000000 --max-bytes 1000 big.lst big 2>err)" "" \
		"--max-bytes leaves out a longer $kind"
	like err ': longer than 1000 bytes; --max-bytes raises this limit$' "im2rec names a $kind over --max-bytes"
done
# Bytes after the end of a JPEG make a file that is longer than the default limit.
mkdir -p long/c && cp "$TOP/tests/fuzz/corpus/img/colour.jpg" long/c/a.jpg && truncate -s 67108865 long/c/a.jpg
status 1 "im2rec leaves out a file over the default limit of bytes" im2rec --resize 8 -o long.rec long
like err 'a\.jpg: longer than 67108864 bytes; --max-bytes raises this limit$' "im2rec names the option for a long file"
status 0 "--max-bytes raises the limit of bytes" im2rec --max-bytes 67108865 --resize 8 -o long.rec long
is "$(im2rec --part 1/3 images | im2rec --list - | wc -l)" 13 "--part 1/3 packs every third image"
printf '7\t1\t2\t3\t%s\n' "$(cd images && find . -name '*.png' | sort | head -n 1)" >m.list
is "$(im2rec --root images m.list | im2rec --list - | cut -f 3)" 1,2,3 "--root reads a file of any name as a list"
is "$(im2rec --root images --pack-label m.list | im2rec --list - | cut -f 3)" 1,2,3 \
	"--pack-label keeps all labels of a list"
is "$(im2rec --root images --label-width 2 m.list 2>err | im2rec --list - | cut -f 3)" 1,2 \
	"--label-width 2 keeps the first two labels"
status 0 "im2rec leaves out labels beyond --label-width" im2rec --root images --label-width 2 -o cut.rec m.list
is "$(said err)" "im2rec: 1 item has more than 2 labels; the rest are left out" \
	"im2rec counts the records with more labels than --label-width"
status 1 "im2rec leaves out an image with fewer labels than --label-width" im2rec --root images --label-width 4 m.list
printf 'vertical\nnone\ndots\n' >names
im2rec -o n.rec --labels names images 2>/dev/null
is "$(im2rec --list n.rec | cut -f 3 | sort | uniq -c | tr -s ' \n' ' ')" " 4 0 4 2 " "--labels numbers the classes"
is "$(cat n.labels)" "$(cat names)" "--labels names the classes in the .labels file"
for bad in "--color 2" "--encoding gif" "--quality 0" "--quality 101" "--inter-method 5" "--resize 0" "--part 3/3" "--cat x" \
	"--label-width 0" "--threads x" "--num-thread 0" "--train-ratio 2" "--chunks 0" "--exts ," "--list --verify"; do
	status 2 "im2rec refuses $bad" im2rec $bad images
	is "$(said err | wc -l)" 1 "im2rec reports $bad in one line"
done

# --- lists
status 0 "--make-list makes a list of a directory" im2rec --make-list -o all --recursive images
is "$(cat out)" "$(ls images | awk '{ print $1, NR - 1 }')" "--make-list prints the classes"
is "$(cat all.names)" "$(ls images)" "--make-list writes the names of classes into a file for --labels"
is "$(sort -n all.lst | cut -f 1 | tr '\n' ' ')" "$(seq -s ' ' 0 39) " "--make-list lists every image once"
isnt "$(cut -f 1 all.lst | tr '\n' ' ')" "$(seq -s ' ' 0 39) " "--make-list shuffles by default"
is "$(sort -n all.lst | cut -f 3)" "$(cd images && find * -name '*.png' | sort)" \
	"--make-list writes the paths of the images"
im2rec -o l.rec all.lst images && im2rec -o d.rec images
is "$(im2rec --list l.rec | sort -n -k 2 | cut -f 2-5)" "$(im2rec --list d.rec | cut -f 2-5)" \
	"a list from --make-list gives the records of its directory"
im2rec --make-list -o again --recursive images >/dev/null
ok "--make-list repeats its order" cmp all.lst again.lst
im2rec --make-list -o other --recursive --seed 1 images >/dev/null
isnt "$(cat other.lst)" "$(cat all.lst)" "--seed changes the order of --make-list"
im2rec --make-list -o kept --recursive --no-shuffle images >/dev/null
is "$(cut -f 1 kept.lst | tr '\n' ' ')" "$(seq -s ' ' 0 39) " "--no-shuffle keeps the order of the directory"
im2rec --make-list -o c --recursive --chunks 3 --train-ratio 0.5 --test-ratio 0.25 images >/dev/null
is "$(wc -l c_*.lst | awk '{ sub(/^c_/, "", $2); sub(/\.lst/, "", $2); print $2 ":" $1 }' | tr '\n' ' ')" \
	"0_test:3 0_train:7 0_val:4 1_test:3 1_train:7 1_val:4 2_test:3 2_train:7 2_val:2 total:40 " \
	"--make-list divides by --chunks, --train-ratio and --test-ratio"
is "$(cat c_*.lst | sort -n)" "$(sort -n all.lst)" "the lists of all chunks have each image once"
status 2 "--make-list refuses a directory without files of --exts" \
	im2rec --make-list -o none --exts .gif --recursive images
status 2 "records under the name of an archive are refused" im2rec -o x.zip images
is "$(cat err) $(ls x.zip* 2>/dev/null)" "im2rec: -o: x.zip would hold records and no archive; name it FILE.rec " \
	"before anything is written"
status 2 "--make-list needs -o" im2rec --make-list images
status 0 "--quality without a change of images is no error" im2rec -o q.rec --quality 50 images
like err '^im2rec: --quality: JPEG and PNG images are copied as they are without --resize' \
	"im2rec says that images are copied in spite of --quality"
status 0 "--encoding alone" im2rec -o q.rec --encoding jpg images
is "$(im2rec --list q.rec | cut -f 5 | sort -u) $(said err)" "jpg " "--encoding encodes images without another change"
mkdir one one/set && cp -r images one/set/train && im2rec -q -o one.rec --split train one
ok "im2rec finds the split train in the only folder of a directory" cmp one.rec d.rec
mv one/set/train one/set/all && mv one/set/all one/all
status 0 "im2rec packs a directory of one folder" im2rec -q -o one.rec one
like err '^im2rec: all images are of one class, all; if the folders in it are the classes, pack one/all$' \
	"im2rec says that a class has folders"
im2rec -q -o one.rec one/all 2>err
ok "im2rec packs the folder that it names, and says nothing" cmp one.rec d.rec
is "$(cat err)" "" "im2rec says nothing of classes"
mkdir cifar && for f in data_batch_1 test_batch; do head -c 3073 /dev/zero >cifar/$f.bin; done
status 0 "im2rec packs both parts of CIFAR-10" im2rec -q -o c10.rec cifar
like err '^im2rec: images for training and for testing are packed together; --split train' "im2rec says that it packs both"
im2rec -q -o c10.rec --split test cifar 2>err
is "$(cat err; wc -l <c10.idx)" 1 "im2rec --split says nothing"
mkdir wds w && cp "$(find images -name '*.png' | head -n 1)" w/0.png && echo 1 >w/0.cls
for f in a-train-0 a-val-0; do tar cf wds/$f.tar -C w 0.png 0.cls; done
im2rec -q -o w.rec wds 2>err
like err 'for training and for testing are packed together' "im2rec says it of shards, too"
mkdir parts && cp -r images parts/train && cp -r images parts/val
status 0 "--make-list lists folders train and val" im2rec --make-list -o parts.all --recursive parts
like err '^im2rec: parts has folders such as train and val, .* list each by itself, as parts/train$' \
	"--make-list says that their classes are counted apart"
cp all.lst given && cp all.names names
status 2 "im2rec refuses to write records over its list" im2rec -o all.lst all.lst images
status 2 "im2rec refuses to write rejects over its list" im2rec -o x.rec --rejects all.lst all.lst images
status 2 "im2rec refuses to write records over the file of --labels" im2rec -o names --labels names images
ok "the list is as it was" cmp all.lst given
ok "the names are as they were" cmp all.names names
cp all.names l2.labels
status 0 "im2rec takes the names from the file in which it writes them" im2rec -o l2.rec --labels l2.labels images

# --- rejects
find images -type f | sort | xargs cksum >before
picture=$(find images -name '*.png' | sort | head -n 1)
mkdir out.d && ln -s "../$picture" out.d/link.txt
for file in "$picture" out.d/link.txt; do
	status 2 "im2rec refuses to write rejects over an image: $file" im2rec -o out.d/r.rec --rejects "$file" images
	is "$(cat err)" "im2rec: --rejects: $file would hold names and reasons, and no image or archive; name it FILE.txt" \
		"im2rec says that $file is named as an image"
done
is "$(find images -type f | sort | xargs cksum)" "$(cat before)" "no image is lost"
for file in r.rec r.idx r.sum r.labels r.rec.partial r.rec.journal; do
	status 2 "im2rec refuses to write rejects over $file of the same run" im2rec -o out.d/r.rec --rejects out.d/../out.d/$file images
	is "$(cat err)" "im2rec: --rejects: out.d/../out.d/$file is a file of -o; name another" "im2rec names $file"
done
(im2rec --rejects both images >both) 2>err
is "$? $(cat err)" "2 im2rec: --rejects: both is standard output, which has the records; name another" \
	"im2rec refuses to write rejects over the records on standard output"
(im2rec --rejects /dev/stdout images; echo $? >code) 2>err | cat >piped
is "$(cat code err)" "2
im2rec: --rejects: /dev/stdout is standard output, which has the records; name another" \
	"im2rec refuses to write rejects into the pipe of the records"
is "$(wc -c <piped)" 0 "im2rec writes nothing to the pipe"
(im2rec --rejects /dev/fd/2 images; echo $? >code) 2>&1 | cat >piped
is "$(cat code piped)" "2
im2rec: --rejects: /dev/fd/2 is standard output, which has the records; name another" \
	"im2rec refuses rejects on standard error if that is the pipe of the records"
(im2rec -q -o piped.rec --rejects /dev/stdout images; echo $? >code) | cat >piped
is "$(cat code)" 0 "im2rec writes rejects to a pipe if the records are in a file"
status 0 "im2rec writes rejects to a device" im2rec -q -o piped.rec --rejects /dev/null images
status 1 "im2rec refuses rejects in a folder that does not exist" im2rec -o out.d/r.rec --rejects nodir/x images
is "$(cat err)" "im2rec: nodir/x: create: there is no folder nodir" "im2rec names the folder that does not exist"
status 2 "im2rec refuses a directory for the rejects" im2rec -o out.d/r.rec --rejects out.d images
is "$(ls out.d)" link.txt "im2rec writes nothing if it refuses the rejects"

# --- memory
if [ -z "${SAN:-}" ]; then
	mkdir -p large/a
	{ printf 'P6\n1700 1700\n255\n'; head -c 8670000 /dev/zero; } >large/a/0.ppm
	for i in $(seq 39); do ln large/a/0.ppm "large/a/$i.ppm"; done
	status 0 "im2rec holds few large images at once" sh -c 'ulimit -v 250000; exec im2rec -j 1 --pass-through large >large.rec'
	is "$(wc -c <large.rec)" $((40 * (8 + 24 + (8670017 + 3) / 4 * 4))) "im2rec packs all large images"
	rm -r large large.rec
else
	skip "im2rec holds few large images at once" "sanitizers need more"
fi
done_testing
