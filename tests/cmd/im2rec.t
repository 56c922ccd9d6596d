# im2rec.t - streams, files, exit codes, messages and bad input of im2rec; real pictures where they are.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1

# What was said, without the lines of progress of a run that takes its time.
said() { grep -vE '^im2rec: [0-9]+ pictures, ' "$1"; }
png() { # 2x1, grey
	base64 -d <<-'B64'
	iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAC0lEQVR4nGNwOAAAAUMBAQURd3wAAAAASUVORK5CYII=
	B64
}
mkdir -p images/cat images/dog/black
png >images/cat/1.png
png >images/cat/2.png
png >images/dog/black/3.png

# --- streams and files
status 0 "a directory to standard output" im2rec images
cp out stream.rec
is "$(od -A n -t x4 -N 32 stream.rec | tr -d ' \n')" \
	"ced7230a$(printf %08x $((24 + $(wc -c <images/cat/1.png))))000000000000000000000000000000000000000000000000" \
	"it begins with the first record's head"
is "$(said err)" "" "nothing is said"
status 0 "the same with -o" im2rec -o train.rec images/
ok "the same records" cmp stream.rec train.rec
is "$(cut -f 1 train.idx | tr '\n' ' ')" "0 1 2 " "the index numbers them from 0"
is "$(while read -r _ at; do od -A n -t x4 -j "$at" -N 4 train.rec; done <train.idx | tr -d '\n')" \
	" ced7230a ced7230a ced7230a" "and says where they begin"
is "$(tr '\n' ' ' <train.labels)" "cat dog " "the classes' names"
is "$(ls -- *.tmp 2>/dev/null)" "" "no half-made files are left"
status 0 "to a file of another name" im2rec -o - images
ok "- is standard output" cmp stream.rec out
for n in 1 2 7; do
	im2rec --threads $n images >"t$n.rec"
done
ok "threads change no byte" cmp t1.rec t2.rec
ok "nor do many" cmp t1.rec t7.rec

# --- progress
pty() { TERM=xterm NO_COLOR=1 perl "$TOP/tests/cmd/pty.pl" 80 24 sh -c "$1" >seen; }
pty 'im2rec -o p.rec images'
like seen '0 pictures, 0\.0 MB' "a terminal sees progress"
pty 'im2rec -q -o p.rec images'
is "$(cat seen)" "" "not with -q"
pty 'im2rec images'
like seen 'records do not go to a terminal' "records do not go to it"

# --- lists
printf '10\t1\tdog/black/3.png\n4\t0\tcat/1.png\n' >a.lst
status 0 "a list" im2rec -o list.rec a.lst images
is "$(cut -f 1 list.idx | tr '\n' ' ')" "10 4 " "has its own numbers and order"
ok "and no names of classes" test ! -e list.labels
status 0 "a list from a pipe" sh -c 'im2rec - images <a.lst | cmp - list.rec'
(cd images && im2rec ../a.lst | cmp -s - ../list.rec)
is $? 0 "a list's paths begin here"

# --- bad items
cp -r images bad
echo nonsense >bad/cat/broken.png
: >bad/cat/empty.jpg
head -c 60 images/cat/1.png >bad/dog/cut.png
echo GIF89a >bad/dog/a.gif
status 1 "broken pictures" im2rec -o bad.rec bad
like err '^im2rec: bad/cat/broken\.png: not JPEG, PNG or WebP$' "one is named"
like err '^im2rec: bad/cat/empty\.jpg: ' "an empty one"
like err '^im2rec: bad/dog/cut\.png: PNG: ' "one that is cut short"
like err '^im2rec: bad/dog/a\.gif: GIF, not JPEG, PNG or WebP$' "one of another format"
is "$(said err | wc -l)" 4 "a line each"
is "$(cut -f 1 bad.idx | tr '\n' ' ')" "0 1 5 " "the rest is packed, under their own numbers"
printf '1\t0\tcat/1.png\n2\t0\tcat/none.png\nx\n3\t1\tcat/2.png\n' >b.lst
status 1 "a list with bad lines" im2rec -o b.rec b.lst images
like err '^im2rec: images/cat/none\.png: open: No such file' "a picture that is not there"
like err '^im2rec: b\.lst:3: ' "a line that is none"
is "$(cut -f 1 b.idx | tr '\n' ' ')" "1 3 " "the rest is packed"

# --- bad streams
tar cf images.tar images
head -c 3000 images.tar >cut.tar
cp train.rec keep.rec
status 1 "an archive that is cut short" im2rec -o train.rec cut.tar
like err '^im2rec: cut\.tar: .*(truncated|Truncated)' "is named"
is "$(said err | wc -l)" 1 "in one line"
ok "the old file is untouched" cmp train.rec keep.rec
is "$(ls -- *.tmp 2>/dev/null)" "" "no half-made file is left"
cp images.tar bent.tar
printf X | dd of=bent.tar bs=1 seek=$(($(grep -abo images/dog images.tar | head -n 1 | cut -d: -f1) + 150)) conv=notrunc 2>/dev/null
status 1 "an archive with a bent head" im2rec -o train.rec bent.tar
like err '^im2rec: bent\.tar: ' "is named"
ok "the old file is untouched by it" cmp train.rec keep.rec
status 1 "a file of another kind" im2rec a.lst.none
like err '^im2rec: a\.lst\.none: open: No such file' "is not there"
status 1 "something that is no source" im2rec train.rec
like err '^im2rec: train\.rec: no images' "is told"
status 1 "a full disk" sh -c 'im2rec images >/dev/full'
like err '^im2rec: standard output: write: No space left' "is told"
is "$(said err | wc -l)" 1 "in one line"
status 1 "a place that cannot be written" im2rec -o no/train.rec images
like err '^im2rec: no/train\.rec: create: No such file' "is told"

# --- the command line
status 2 "no argument" im2rec
like err '^usage: im2rec ' "is answered with the usage"
status 2 "two verbs" im2rec --list --verify a.rec
status 2 "an unknown split" im2rec --split all images
like err "^im2rec: --split: 'all' is neither train nor test" "is told"
status 2 "no threads" im2rec --threads 0 images
status 2 "a split that the source has not" im2rec --split train images
like err '^im2rec: images: no folder train' "is told"

# --- stopped
mkfifo slow.png
mkdir -p wait/cat && mv slow.png wait/cat/ && png >wait/cat/a.png
printf '1\t0\tcat/a.png\n2\t0\tcat/slow.png\n' >w.lst
im2rec -o w.rec w.lst wait & pid=$!
timeout 20 sh -c 'exec 9>wait/cat/slow.png && kill -TERM "$1" && cat images/cat/1.png >&9' sh $pid
wait $pid
is $? 143 "ended by a signal"
is "$(ls w.rec w.idx -- *.tmp 2>/dev/null)" "" "it leaves nothing half-made"

# --- real pictures
if [ -e "$DATA/odd-images.tar" ]; then
	status 1 "pictures that decoders stumble on" im2rec -o odd.rec "$DATA/odd-images.tar"
	is "$(grep -c '/x[a-z0-9]*\.png: ' err)" 14 "a line for each that is invalid by design"
	is "$(said err | wc -l)" 14 "and no other"
	is "$(wc -l <odd.idx)" "$(($(tar tf "$DATA/odd-images.tar" | grep -cE '\.(jpg|png)$') - 14))" "the rest is packed"
else
	skip "odd pictures" "no $DATA/odd-images.tar"
fi
if [ -e "$DATA/imagenette-sample.tar" ]; then
	status 0 "photographs" im2rec --split train -o in.rec "$DATA/imagenette-sample.tar"
	is "$(wc -l <in.idx)" 1000 "all are packed"
	is "$(wc -l <in.labels)" 10 "in ten classes"
	mkdir x && tar xf "$DATA/imagenette-sample.tar" -C x
	status 0 "the same from a directory" im2rec --split train -o in2.rec x/imagenette
	is "$(wc -c <in2.rec)" "$(wc -c <in.rec)" "as many bytes"
	# In the archive's order, the first record is its first picture.
	first=$(tar tf "$DATA/imagenette-sample.tar" | grep -m 1 'train/.*JPEG')
	ok "pictures are copied unchanged" sh -c 'dd if=in.rec bs=1 skip=32 count="$2" 2>/dev/null | cmp - "x/$1"' sh \
		"$first" "$(wc -c <"x/$first")"
else
	skip "photographs" "no $DATA/imagenette-sample.tar"
fi
done_testing
