# im2rec.t - streams, files, exit status, messages and bad input of im2rec; photographs if they are here.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1

# Prints the messages without progress.
said() { grep -vE '^im2rec: [0-9]+ images, ' "$1"; }
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
status 0 "im2rec packs a directory to standard output" im2rec images
cp out stream.rec
is "$(od -A n -t x4 -N 32 stream.rec | tr -d ' \n')" \
	"ced7230a$(printf %08x $((24 + $(wc -c <images/cat/1.png))))000000000000000000000000000000000000000000000000" \
	"a packed stream starts with the head of a record"
is "$(said err)" "" "im2rec writes no messages for sound images"
status 0 "im2rec -o packs a directory into a file" im2rec -o train.rec images/
ok "im2rec -o writes the same records as to standard output" cmp stream.rec train.rec
is "$(cut -f 1 train.idx | tr '\n' ' ')" "0 1 2 " "the .idx file numbers records from 0"
is "$(while read -r _ at; do od -A n -t x4 -j "$at" -N 4 train.rec; done <train.idx | tr -d '\n')" \
	" ced7230a ced7230a ced7230a" "the .idx file has the offsets of the records"
is "$(tr '\n' ' ' <train.labels)" "cat dog " "the .labels file has the names of the classes"
is "$(ls -- *.tmp 2>/dev/null)" "" "im2rec -o leaves no temporary file"
status 0 "im2rec accepts -o -" im2rec -o - images
ok "im2rec -o - writes to standard output" cmp stream.rec out
for n in 1 2 7; do
	im2rec --threads $n images >"t$n.rec"
done
ok "two threads give the bytes of one thread" cmp t1.rec t2.rec
ok "seven threads give the bytes of one thread" cmp t1.rec t7.rec

# --- progress
pty() { TERM=xterm NO_COLOR=1 perl "$TOP/tests/cmd/pty.pl" 80 24 sh -c "$1" >seen; }
pty 'im2rec -o p.rec images'
like seen '0 images, 0\.0 MB' "im2rec shows progress on a terminal"
pty 'im2rec -q -o p.rec images'
is "$(cat seen)" "" "im2rec -q shows no progress on a terminal"
pty 'im2rec images'
like seen 'refusing to write records to a terminal' "im2rec refuses to write records to a terminal"

# --- lists
printf '10\t1\tdog/black/3.png\n4\t0\tcat/1.png\n' >a.lst
status 0 "im2rec packs a list" im2rec -o list.rec a.lst images
is "$(cut -f 1 list.idx | tr '\n' ' ')" "10 4 " "the .idx file keeps the ids and the order of a list"
ok "a list gives no .labels file" test ! -e list.labels
status 0 "a list on standard input gives the same records" sh -c 'im2rec - images <a.lst | cmp - list.rec'
(cd images && im2rec ../a.lst | cmp -s - ../list.rec)
is $? 0 "paths of a list are relative to the current directory"
sed "s,\t\([a-z]*/\),\t$PWD/images/\1," a.lst >absolute.lst
status 0 "im2rec packs a list of absolute paths" im2rec -o absolute.rec absolute.lst images
ok "absolute paths give the same records" cmp absolute.rec list.rec
sed 's,\t\([a-z]*/\),\t/\1,' a.lst >slash.lst
status 0 "im2rec packs a list whose paths begin with / and are in the root" im2rec -o slash.rec slash.lst images
ok "paths that begin with / give the same records" cmp slash.rec list.rec
status 1 "im2rec refuses a list of absolute paths that do not exist" im2rec -o none.rec slash.lst
is "$(said err)" "im2rec: slash.lst: /dog/black/3.png does not exist; correct the absolute paths of the list" \
	"im2rec names an absolute path that does not exist"

# --- damaged images and bad lines
cp -r images bad
echo nonsense >bad/cat/broken.png
: >bad/cat/empty.jpg
head -c 60 images/cat/1.png >bad/dog/cut.png
echo GIF89a >bad/dog/a.gif
status 1 "im2rec exits with status 1 if images are damaged" im2rec -o bad.rec bad
like err '^im2rec: bad/cat/broken\.png: not in a known image format$' \
	"im2rec names an image of no known format"
like err '^im2rec: bad/cat/empty\.jpg: ' "im2rec names an empty image"
like err '^im2rec: bad/dog/cut\.png: PNG: ' "im2rec names a truncated PNG"
like err '^im2rec: bad/dog/a\.gif: GIF: ' "im2rec names a damaged GIF"
is "$(said err | wc -l)" 4 "im2rec writes one line per damaged image"
is "$(cut -f 1 bad.idx | tr '\n' ' ')" "0 1 5 " "im2rec packs the sound images under their own ids"
printf '1\t0\tcat/1.png\n2\t0\tcat/none.png\nx\n3\t1\tcat/2.png\n' >b.lst
status 1 "im2rec exits with status 1 if a list has bad lines" im2rec -o b.rec b.lst images
like err '^im2rec: images/cat/none\.png: open: No such file' "im2rec names a missing image of a list"
like err '^im2rec: b\.lst:3: ' "im2rec gives the number of an invalid line in a list"
is "$(cut -f 1 b.idx | tr '\n' ' ')" "1 3 " "im2rec packs the good lines of a list with bad ones"

# --- other formats: im2rec reads or names them
mkdir -p kinds/c && cp "$TOP"/tests/fuzz/corpus/img/*.{bmp,gif,pbm,pgm,ppm,tif} kinds/c/
n=$(ls kinds/c | wc -l)
for e in jfif jpe jif JPG; do cp "$TOP/tests/fuzz/corpus/img/colour.jpg" "kinds/c/x.$e"; done
status 0 "im2rec packs BMP, GIF, PNM and TIFF" im2rec -o kinds.rec kinds
is "$(im2rec --list kinds.rec | cut -f 5 | sort | uniq -c | tr -s ' \n' ' ')" " 4 jpg $n png " \
	"BMP, GIF, PNM and TIFF become PNG; .jfif, .jpe, .jif and .JPG are JPEG"
is "$(im2rec --list -v kinds.rec | cut -f 7 | grep -cv '^[0-9]')" 0 \
	"im2rec --list -v shows the size of each transcoded image"
printf '\0\0\0\030ftypheic' >kinds/c/y.heic
printf '\0\0\0\fJXL \r\n\207\n' >kinds/c/y.jxl
printf '\0\0\0\fjP  \r\n\207\n' >kinds/c/y.jp2
: >kinds/c/y.tga
printf 'v/1\001\002' >kinds/c/y.exr
printf '#?RADIANCE\n' >kinds/c/y.hdr
printf '\0\0\001\0\001' >kinds/c/y.ico
printf '<svg ' >kinds/c/y.svg
mkdir none && : >none/libheif.so.1 && for v in 7 8 9 10 11; do : >none/libjxl.so.0.$v; done
status 1 "im2rec exits with status 1 for formats that it does not read" env LD_LIBRARY_PATH=none "$BUILD/im2rec" -o kinds2.rec kinds
like err '^im2rec: kinds/c/y\.heic: HEIC and AVIF are read where libheif is installed; install libheif1' \
	"without libheif im2rec says what to install"
like err '^im2rec: kinds/c/y\.jxl: JPEG XL is read where libjxl is installed; install libjxl-tools' \
	"without libjxl im2rec says what to install"
like err '^im2rec: kinds/c/y\.jp2: JPEG 2000, which is not read; convert it to PNG or JPEG$' \
	"im2rec names JPEG 2000 and suggests a conversion"
like err '^im2rec: kinds/c/y\.exr: OpenEXR, which is not read' "im2rec names OpenEXR"
like err '^im2rec: kinds/c/y\.hdr: Radiance HDR, which is not read' "im2rec names Radiance HDR"
like err '^im2rec: kinds/c/y\.ico: ICO, which is not read' "im2rec names ICO"
like err '^im2rec: kinds/c/y\.svg: SVG, which is not read' "im2rec names SVG"
like err '^im2rec: kinds/c/y\.tga: \.tga, which is not read; convert it' "im2rec names a .tga, which has no signature, by its suffix"
for e in srw 3fr heics avifs j2c jpm psb dds icns cur svgz qoi ff raw TGA pef xpm eps wbmp x3f; do echo "$e" >"kinds/c/z.$e"; done
cp "$(find images -name '*.png' | head -n 1)" kinds/c/z.apng
for e in jfi pjpeg mpo; do cp kinds/c/x.jif "kinds/c/z.$e"; done
status 1 "im2rec exits with status 1 for more of them" im2rec -o kinds3.rec kinds
is "$(grep -c '/z\.[a-zA-Z0-9]*: \.[a-z0-9]*, which is not read' err)" 20 "im2rec names each file of a known suffix that it does not read"
like err '^im2rec: 26 files are left out whose formats are not read: .*2 \.tga' "im2rec counts them by suffix"
is "$(im2rec --list kinds3.rec | wc -l)" $((n + 8)) "im2rec reads .apng as PNG, and .jfi, .pjpeg and .mpo as JPEG"
rm -f kinds/c/z.*
is "$(im2rec --list kinds2.rec | wc -l)" $((n + 4)) "im2rec packs the images beside those that it does not read"

# --- bad streams
tar cf images.tar images
head -c 3000 images.tar >cut.tar
cp train.rec keep.rec
status 1 "im2rec exits with status 1 if an archive is truncated" im2rec -o train.rec cut.tar
like err '^im2rec: cut\.tar: .*(truncated|Truncated)' "im2rec names the truncated archive"
is "$(said err | wc -l)" 1 "im2rec reports a truncated archive in one line"
ok "a truncated archive leaves the old .rec file unchanged" cmp train.rec keep.rec
is "$(ls -- *.tmp 2>/dev/null)" "" "a truncated archive leaves no temporary file"
cp images.tar bent.tar
printf X | dd of=bent.tar bs=1 seek=$(($(grep -abo images/dog images.tar | head -n 1 | cut -d: -f1) + 150)) conv=notrunc 2>/dev/null
status 1 "im2rec exits with status 1 if an archive has a damaged header" im2rec -o train.rec bent.tar
like err '^im2rec: bent\.tar: ' "im2rec names the archive with a damaged header"
ok "a damaged header leaves the old .rec file unchanged" cmp train.rec keep.rec
printf X | dd of=bent.tar bs=1 seek=150 conv=notrunc 2>/dev/null
status 1 "im2rec exits with status 1 if an archive's first header is damaged" im2rec -o train.rec bent.tar
like err '^im2rec: bent\.tar: is no archive, or its start is damaged; tar, zip, ' \
	"im2rec says that an archive with a damaged first header may be damaged, and which archives it reads"
status 1 "im2rec exits with status 1 for this archive on a pipe" sh -c 'gzip -c bent.tar | im2rec -o train.rec -'
like err '^im2rec: standard input: no images: is no archive, or its start is damaged; tar, zip, ' \
	"im2rec says the same of this archive on a pipe, compressed"
gzip -c images.tar | head -c 200 >cut.tgz
status 1 "im2rec exits with status 1 if an archive ends within its first compressed bytes" im2rec -o train.rec cut.tgz
like err '^im2rec: cut\.tgz: .*the gzip data is cut' "im2rec says that such an archive is cut"
tar czf whole.tgz images && head -c -5 whole.tgz >cut.tgz
status 1 "im2rec exits with status 1 if the end of the gzip data is cut" im2rec -o cut.rec cut.tgz
like err '^im2rec: cut\.tgz: after .*: the gzip data is cut$' "im2rec names the archive whose gzip data is cut"
im2rec -o whole.rec whole.tgz
ok "im2rec packs the images of an archive whose end is cut" cmp cut.rec whole.rec
{ cat whole.tgz && echo junk; } >junk.tgz
status 1 "im2rec exits with status 1 if bytes follow the gzip data" im2rec -o cut.rec junk.tgz
like err '^im2rec: junk\.tgz: after .*: bytes after the end of the compressed data are not gzip' "im2rec reports these bytes"
(cd images/dog && tar cPf ../../up.tar ../cat black)
status 1 "im2rec exits with status 1 if images of an archive have .. in their names" im2rec -o up.rec up.tar
is "$(said err | sort)" "$(printf 'im2rec: up.tar: ../cat/%d.png: members with "." or ".." in their names are not read\n' 1 2)" \
	"im2rec names the images of an archive that have .. in their names"
mkdir -p deep/c/d && png >deep/c/d/1.png && (cd deep && tar cf ../n.tar c)
for n in 1 2 3 4; do tar cf "n$n.tar" n.tar && mv "n$n.tar" n.tar; done
status 1 "im2rec exits with status 1 if archives are nested five deep" im2rec -o train.rec n.tar
like err '^im2rec: n\.tar: no images: n\.tar: .*archives are nested more than 4 deep$' \
	"im2rec reports archives nested more than four deep"
path=$(printf 'd/%.0s' $(seq 64))
mkdir -p "far/$path" && png >"far/$path/1.png"
is "$(im2rec far 2>err | im2rec --list - | wc -l)" 1 "im2rec reads folders nested 64 deep"
mkdir "far/$path/d" && mv "far/$path/1.png" "far/$path/d/1.png"
status 1 "im2rec exits with status 1 if folders are nested 65 deep" im2rec -o train.rec far
like err '^im2rec: far: no images: far/.*folders are nested more than 64 deep$' \
	"im2rec reports folders nested more than 64 deep"
mkdir flat && png >flat/1.png && echo '{"labels": 3}' >flat/1.json
is "$(im2rec flat | im2rec --list - | cut -f 3)" 3 "a label in JSON needs no brackets"
echo 3 >flat/1.json
is "$(im2rec flat | im2rec --list - | cut -f 3)" 3 "a label in JSON may be the number alone"
echo '{"label": 3}' >flat/1.json
status 1 "im2rec exits with status 1 if a JSON file lacks labels" im2rec -o train.rec flat
is "$(said err | cut -d\; -f 1)" 'im2rec: flat: its images are in no class folders, and 1.json: has no member "labels"' \
	"im2rec names a JSON file without labels"
like err '; labels in JSON are a number, such as 3, or \{"labels": \[3, 0\.5\]\}$' "im2rec says what it reads there"
echo 1e400 >flat/1.json
status 1 "im2rec exits with status 1 if a JSON file has a number that is too large" im2rec -o train.rec flat
like err '1\.json: .*1e400.*; labels in JSON are' "im2rec shows what it found in the JSON file"
rm flat/1.json && echo '{}' >flat/0.json
status 1 "im2rec exits with status 1 if images have neither folders nor labels" im2rec -o train.rec flat
like err 'in no class folders, and have no labels beside them \(KEY\.cls, or KEY\.json with' \
	"im2rec names the label files that it supports"
mkdir -p beside/cat beside/dog && png >beside/cat/1.png && png >beside/dog/2.png
echo '{"labels": ["cat", "dog"]}' >beside/about.json
is "$(im2rec beside | im2rec --list - | cut -f 3 | paste -s -d ' ')" "0 1" "a JSON file of no image does not hide class folders"
is "$(tar cf - -C beside about.json cat/1.png dog/2.png | im2rec - | im2rec --list - | cut -f 3 | paste -s -d ' ')" "0 1" \
	"a JSON file of no image does not hide class folders in an archive from a pipe"
# Frames of a film have one key.  None is lost from a pipe, nor is one too long.
mkdir -p film/cat film/dog && for i in $(seq 10 99); do png >film/cat/clip.$i.png; done && png >film/dog/1.png
: >film/cat/clip.10.txt
tar cf film.tar --sort=name -C film cat dog
is "$(im2rec - <film.tar | im2rec --list - | cut -f 3 | uniq -c | tr -s ' ' | paste -s)" " 90 0	 1 1" \
	"im2rec reads 90 images whose names begin alike from a pipe"
status 1 "im2rec exits with status 1 if the first image of a pipe is too long" \
	sh -c 'im2rec --max-bytes 50 - <film.tar >film.rec'
is "$(grep -c 'longer than 50 bytes' err)" 91 "im2rec reports all images of a pipe that are too long"
# Samples of a webdataset in other orders, with other files among them: a pipe gives what the file gives.
mkdir -p pairs/s && for i in 1 2; do
	png >pairs/$i.png && cp pairs/$i.png pairs/s && echo $((6 + i)) | tee pairs/$i.cls pairs/$i.json >pairs/s/$i.json
	echo $i >pairs/$i.cls2
done
cp pairs/1.png pairs/1.jpg && touch pairs/1.txt
while IFS=: read -r labels names; do
	# shellcheck disable=SC2086
	tar cf pairs.tar -C pairs $names
	im2rec pairs.tar >pairs.rec 2>pairs.err
	is "$? $(im2rec --list pairs.rec | cut -f 3 | paste -s -d ' ')" "$labels" "im2rec reads an archive of $names"
	im2rec - <pairs.tar >pipe.rec 2>pipe.err
	is "$? $(im2rec --list pipe.rec | cut -f 3 | paste -s -d ' ')" "$labels" "im2rec reads it from a pipe"
	is "$(sed 's/standard input/pairs.tar/; s/: -:/: pairs.tar:/' pipe.err)" "$(cat pairs.err)" "im2rec says the same of both"
done <<'END'
0 7 8:1.json 1.png 2.json 2.png
0 7 8:1.png 1.json 2.png 2.json
0 7 8:1.json 1.txt 1.png 2.json 2.png
0 7 8:1.png 1.txt 1.json 2.png 2.json
0 7 8:s/1.json s/1.png s/2.json s/2.png
0 7 8:s/1.png s/1.json s/2.png s/2.json
0 7,1 8,2:1.png 1.cls2 1.cls 2.png 2.cls2 2.cls
0 7,1 8,2:1.cls2 1.cls 1.png 2.cls2 2.cls 2.png
1 8:1.json 2.json 2.png
END
status 1 "im2rec exits with status 1 if its source is missing" im2rec a.lst.none
like err '^im2rec: a\.lst\.none: open: No such file' "im2rec names a missing source"
status 1 "im2rec exits with status 1 if its source is a .rec file" im2rec train.rec
like err '^im2rec: train\.rec: no images' "im2rec finds no images in a .rec file"
status 1 "im2rec exits with status 1 if the disk is full" sh -c 'im2rec images >/dev/full'
like err '^im2rec: standard output: write: No space left' "im2rec reports a full disk"
is "$(said err | wc -l)" 1 "im2rec reports a full disk in one line"
status 1 "im2rec exits with status 1 if the output directory is missing" im2rec -o no/train.rec images
like err '^im2rec: no/train\.rec: create: there is no folder no$' "im2rec names the output in a missing directory"

# --- the command line
status 2 "im2rec without arguments exits with status 2" im2rec
like err '^usage: im2rec ' "im2rec without arguments prints the usage"
status 2 "im2rec refuses --list together with --verify" im2rec --list --verify a.rec
status 2 "im2rec refuses an unknown --split" im2rec --split all images
like err "^im2rec: --split: 'all' is neither train nor test, which also stands for folders such as val$" "im2rec names the unknown --split"
status 2 "im2rec refuses --threads 0" im2rec --threads 0 images
status 2 "im2rec refuses a split that the source lacks" im2rec --split train images
like err '^im2rec: images: no folder train for --split' "im2rec names the folder of a split that the source lacks"

# --- stopped
mkfifo w.lst
mkdir -p wait/cat && png >wait/cat/a.png
im2rec -o w.rec w.lst wait & pid=$!
timeout 20 sh -c 'exec 9>w.lst && printf "1\t0\tcat/a.png\n" >&9 && kill -TERM "$1"' sh $pid
wait $pid
is $? 143 "SIGTERM ends a run of im2rec"
is "$(ls w.rec w.idx -- *.tmp 2>/dev/null)" "" "a run ended by SIGTERM leaves no output or temporary file"

# --- real images
if [ -e "$DATA/odd-images.tar" ]; then
	status 1 "im2rec exits with status 1 for the archive of odd images" im2rec -o odd.rec "$DATA/odd-images.tar"
	is "$(grep -c '/x[a-z0-9]*\.png: ' err)" 14 "im2rec names each odd image that is invalid by design"
	is "$(said err | wc -l)" 14 "im2rec reports no valid odd image"
	is "$(wc -l <odd.idx)" "$(($(tar tf "$DATA/odd-images.tar" | grep -cE '\.(jpg|png)$') - 14))" \
		"im2rec packs all valid odd images"
else
	skip "im2rec packs all valid odd images" "no $DATA/odd-images.tar"
fi
if [ -e "$DATA/imagenette-sample.tar" ]; then
	status 0 "im2rec packs an archive of photographs" im2rec --split train -o in.rec "$DATA/imagenette-sample.tar"
	is "$(wc -l <in.idx)" 1000 "im2rec packs all 1000 photographs of the archive"
	is "$(wc -l <in.labels)" 10 "im2rec finds the ten classes of the photographs"
	mkdir x && tar xf "$DATA/imagenette-sample.tar" -C x
	status 0 "im2rec packs the photographs from a directory" im2rec --split train -o in2.rec x/imagenette
	is "$(wc -c <in2.rec)" "$(wc -c <in.rec)" "a directory gives as many bytes as its archive"
	# The archive's order is kept, so the first record is its first image.
	first=$(tar tf "$DATA/imagenette-sample.tar" | grep -m 1 'train/.*JPEG')
	ok "im2rec copies photographs unchanged" \
		sh -c 'dd if=in.rec bs=1 skip=32 count="$2" 2>/dev/null | cmp - "x/$1"' sh \
		"$first" "$(wc -c <"x/$first")"
else
	skip "im2rec packs an archive of photographs" "no $DATA/imagenette-sample.tar"
fi
done_testing
