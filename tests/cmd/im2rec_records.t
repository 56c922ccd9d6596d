# im2rec_records.t - im2rec lists, verifies, extracts and indexes records, and continues after damage.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1
# Prints the messages without progress.
said() { grep -vE '^im2rec: [0-9]+ images, ' "$1"; }

pictures images 40 1 || exit 1	# ten class folders of four images, from the demo
im2rec -o t.rec images
field() { im2rec --list "$1" 2>/dev/null | sed -n "$(($2 + 1))p" | cut -f "$3"; }
bend() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; }

# --- --list and --verify
status 0 "--list exits with status 0 for sound records" im2rec --list t.rec
cp out list
is "$(wc -l <list)" 40 "--list prints one line per record"
is "$(cut -f 2,6 list)" "$(cat t.idx)" "--list prints the ids and offsets of the index"
is "$(cut -f 3 list | uniq -c | tr -s ' \n' ' ')" " 4 0 4 1 4 2 4 3 4 4 4 5 4 6 4 7 4 8 4 9 " \
	"--list prints the label of each record"
is "$(sed -n 8p list | cut -f 4,5)" "$(find images -name '*.png' | sort | sed -n 8p | xargs wc -c | cut -d ' ' -f 1)$(printf '\tpng')" \
	"--list prints the size in bytes and the format of an image"
is "$(im2rec --list - <t.rec | cksum)" "$(cksum <list)" "--list reads records from standard input"
is "$(cat t.rec | im2rec --list - | cksum)" "$(cksum <list)" "--list reads records from a pipe"
perl -e 'srand 1; print "P6 100 100 255\n", map { chr rand 256 } 1..30000' >noise.ppm
awk 'BEGIN { for (i = 0; i < 20; i++) { printf "%d", i; for (j = 0; j < 79; j++) printf "\t%d", j; print "\tnoise.ppm" } }' >many.lst
im2rec -q -o many.rec many.lst .
is "$(im2rec --list many.rec | cut -f 5 | uniq -c | tr -s ' ')" " 20 png" "--list prints the format of images with many labels"
im2rec --list -v t.rec >more
is "$(cut -f 1-6 more | cksum)" "$(cksum <list)" "--list -v keeps the columns of --list"
is "$(cut -f 8 more)" "$(cut -f 3 t.sum)" "--list -v adds the checksums"
is "$(cut -f 7 more | sort -u)" 32x32x3 "--list -v adds the sizes of the images"
status 0 "--verify exits with status 0 for sound records" im2rec --verify t.rec
is "$(cat out)" "t.rec: 40 records, 0 bad, index agrees, sums agree" "--verify prints a summary of sound records"
status 0 "--verify -q exits with status 0 for sound records" im2rec --verify -q t.rec
is "$(cat out err)" "" "--verify -q prints nothing for sound records"
status 0 "--verify reads records from a pipe" sh -c 'cat t.rec | im2rec --verify -'
is "$(cat out)" "-: 40 records, 0 bad, no index, no sums" \
	"--verify of a pipe reports that there are neither index nor checksums"

# --- --cat, --extract and --to-tar
is "$(im2rec --cat 7 t.rec | cksum)" "$(find images -name '*.png' | sort | sed -n 8p | xargs cat | cksum)" "--cat writes an image"
is "$(im2rec --cat 38-,0,2-3 t.rec | cksum)" \
	"$(find images -name '*.png' | sort | sed -n '1p;3,4p;39,40p' | xargs cat | cksum)" \
	"--cat writes several images in the order of the file"
is "$(im2rec --cat 7 - <t.rec | cksum)" "$(im2rec --cat 7 t.rec | cksum)" "--cat reads records from standard input"
status 1 "--cat exits with status 1 for a missing record" im2rec --cat 40 t.rec
like err '^im2rec: t\.rec: has 40 records, numbered from 0$' "--cat reports the number of records if one is missing"
for bad in x 3-2 1,, 3-2-1 -1; do
	status 2 "im2rec refuses --cat $bad" im2rec --cat "$bad" t.rec
done
status 0 "--extract exits with status 0 for sound records" im2rec --extract -o x t.rec
is "$(cd x && find . -type d | sort | tr '\n' ' ')" \
	". $(cd images && find . -mindepth 1 -type d | sort | tr '\n' ' ')" "--extract makes a folder for each class"
is "$(find x -type f | wc -l)" 40 "--extract writes all images"
im2rec -o again.rec x.lst x
ok "--extract writes a list that gives the same records" cmp t.rec again.rec
awk -v f="$(cd images && find . -name '*.png' | head -n 1)" \
	'BEGIN { printf "7"; for (i = 0; i < 5000; i++) printf "\t%d.5", i; printf "\t%s\n", f }' >wide.lst
im2rec -o wide.rec wide.lst images && cp wide.lst given
status 1 "--extract exits with status 1 if its list exists" im2rec --extract -o wide wide.rec
like err '^im2rec: wide\.lst: exists, and would be replaced; extract to another directory$' "--extract names the list"
ok "--extract leaves the list as it is" cmp wide.lst given
status 0 "--label-width accepts as many labels as a list has" im2rec -o width.rec --label-width 5000 wide.lst images
ok "--label-width packs all of 5000 labels" cmp wide.rec width.rec
im2rec --extract -o wide1 wide.rec
status 0 "im2rec packs the list of --extract of a record with 5000 labels" im2rec -o wide2.rec wide1.lst wide1
ok "the list of --extract gives the same record" cmp wide.rec wide2.rec
status 1 "--extract exits with status 1 if its folder has files" im2rec --extract -o x t.rec
like err '^im2rec: x: exists and is not empty' "--extract names a folder that is not empty"
mkdir other && ln -s other named
status 0 "--extract follows a link that names its directory, as tar -C does" im2rec --extract -o named t.rec
is "$(ls other | wc -l)" "$(ls x | wc -l)" "--extract writes into the directory to which the link points"
# Another user plants a link into the folder while im2rec waits for its records.
mkfifo records && mkdir away
im2rec --extract -o planted - <records 2>err & pid=$!
exec 3>records
head -c 4 t.rec >&3
until compgen -G "planted.lst*" >/dev/null; do read -rt 0.02 <> <(:); done
ln -s "$PWD/away" planted/0
tail -c +5 t.rec >&3
exec 3>&-
wait $pid
is $? 1 "--extract exits with status 1 if the folder of a class is a planted link"
like err '^im2rec: planted/0: open without following links: ' "--extract names the planted link"
is "$(ls away)" "" "--extract does not follow a link that another user has planted"
status 0 "--to-tar exits with status 0 for sound records" im2rec --to-tar -o t.tar t.rec
is "$(tar tf t.tar | sed -n '1,5p' | tr '\n' ' ')" "__labels__ 00000000.png 00000000.cls 00000001.png 00000001.cls " \
	"--to-tar writes the names of classes, images and classes"
is "$(im2rec --to-tar t.rec | cksum)" "$(cksum <t.tar)" "--to-tar writes to standard output without -o"
im2rec -o w.rec t.tar
ok "an archive from --to-tar gives the same records" cmp t.rec w.rec
ok "an archive from --to-tar gives the same names of classes" cmp t.labels w.labels
im2rec --to-tar t.rec | im2rec -o w.rec -
ok "an archive from a pipe gives the same names of classes" cmp t.labels w.labels
sort -r t.labels >reversed
status 0 "im2rec packs an archive of --to-tar by given names" im2rec -o w.rec --labels reversed t.tar
is "$(im2rec --list w.rec | cut -f 3)" "$(im2rec --list t.rec | cut -f 3 | awk -v n="$(wc -l <t.labels)" '{ print n - 1 - $1 }')" \
	"the names of an archive decide which given class is meant"
sed 1s/^/other-/ t.labels >others
status 1 "im2rec leaves out images of an archive whose class is not given" im2rec -o w.rec --labels others t.tar
like err "its class 0, '$(head -n 1 t.labels)', is none of the given classes$" "im2rec names the class"
mkdir shards && cp t.tar shards/1.tar && tar cf shards/2.tar --transform 's/others/__labels__/' others
status 1 "im2rec refuses shards with other names of classes" im2rec -o w.rec shards
like err 'shards/2\.tar: __labels__: its names of classes are not those of an earlier shard$' "im2rec names the shard"
cp t.rec o.rec && cp others o.labels
status 2 "--to-tar refuses records of other classes together" im2rec --to-tar -o w.tar t.rec o.rec
like err '^im2rec: o\.rec: its classes are not those of t\.rec' "--to-tar names the records"
cp t.rec records.rec && cp records.rec records.x
status 2 "--to-tar refuses to replace its records" im2rec --to-tar -o records.x records.x
like err '^im2rec: -o: records\.x is also an input, which would be lost; name another file$' \
	"--to-tar names the file that it would replace"
ln records.x linked
status 2 "--to-tar knows its records by another name" im2rec --to-tar -o linked records.x
sh -c 'im2rec --to-tar records.x >>records.x' 2>err
is $? 2 "--to-tar does not append to its records"
ok "the records are as they were" cmp records.x records.rec
status 0 "--to-tar reads and writes devices" im2rec --to-tar -o /dev/null t.rec
status 1 "--to-tar exits with status 1 if the disk is full" sh -c 'im2rec --to-tar t.rec >/dev/full'
like err 'No space left' "--to-tar reports a full disk"
status 1 "--list exits with status 1 if the disk is full" sh -c 'im2rec --list t.rec >/dev/full'

# --- several labels, fractions, repeated ids, class names with slashes
printf '5\t0.5\t1\t-2\t%s\n5\t1e-3\t2\t3\t%s\n' $(cd images && find . -name '*.png' | head -n 2) >m.lst
im2rec -o m.rec m.lst images
is "$(im2rec --list m.rec | cut -f 2,3 | tr '\n\t' '; ')" "5 0.5,1,-2;5 0.00100000005,2,3;" \
	"--list prints all labels of a record"
im2rec --extract -o m1 m.rec && im2rec -o m2.rec m1.lst m1
ok "--extract keeps all labels of a record" cmp m.rec m2.rec
is "$(im2rec --to-tar m.rec | tar xOf - 00000005.json)" '{"labels": [0.5, 1, -2]}' \
	"--to-tar writes several labels as JSON"
is "$(im2rec --to-tar m.rec | tar tf - | tr '\n' ' ')" "00000005.png 00000005.json 00000005-1.png 00000005-1.json " \
	"--to-tar gives two records of one id different names"
im2rec --list m.rec | cut -f 3 >labels
im2rec --to-tar -o m.tar m.rec
is "$(im2rec m.tar | im2rec --list - | cut -f 3)" "$(cat labels)" "im2rec packs a webdataset with labels in JSON"
is "$(im2rec --to-tar m.rec | im2rec - | im2rec --list - | cut -f 3)" "$(cat labels)" \
	"im2rec packs a webdataset from a pipe"
# More labels than im2rec packs, which other programs may write.
perl -e 'open F, "<:raw", shift; local $/; my $r = pack("V f< Q< Q<", 65537, 0, 7, 0) . pack("f<*", (1) x 65537) . <F>;
	print pack("V V", 0xced7230a, length $r), $r, "\0" x (-length($r) % 4)' "$(find images -name '*.png' | head -n 1)" >over.rec
is "$(im2rec --list over.rec | cut -f 2)" 7 "--list reads a record with 65537 labels"
status 1 "--to-tar exits with status 1 for a record with 65537 labels" im2rec --to-tar -o over.tar over.rec
like err '^im2rec: over\.rec: .*has 65537 labels, and im2rec packs at most 65536' "--to-tar says how many labels im2rec packs"
is "$(tar tf over.tar)" "" "--to-tar leaves out what im2rec does not pack"
status 1 "--extract exits with status 1 for a record with 65537 labels" im2rec --extract -o over over.rec
like err '^im2rec: over\.rec: .*has 65537 labels, and im2rec packs at most 65536' "--extract says how many labels im2rec packs"
is "$(find over -type f; cat over.lst)" "" "--extract leaves out what im2rec does not pack"
# As many as it packs, as text of the most bytes.
perl -e 'open F, "<:raw", shift; local $/;
	my $r = pack("V f< Q< Q<", 65536, 0, 7, 0) . pack("V*", (0x80800001) x 65535, 0x7fc00001) . <F>;
	print pack("V V", 0xced7230a, length $r), $r, "\0" x (-length($r) % 4)' "$(find images -name '*.png' | head -n 1)" >most.rec
im2rec --to-tar -o most.tar most.rec && im2rec -o most2.rec --pass-through most.tar
is "$(im2rec --list most2.rec | cut -f 3 | cksum)" "$(im2rec --list most.rec | cut -f 3 | cksum)" "--to-tar keeps 65536 labels"
im2rec --extract -o most most.rec && im2rec -o most3.rec --pass-through most.lst most
ok "--extract keeps 65536 labels bit for bit" cmp most3.rec most.rec
# Labels that are not class numbers.
set -- $(cd images && find . -name '*.png' | head -n 8)
for label in -1 -0.0 16777216 3.40282347e+38 nan nan:7f800001 inf -inf; do
	printf '%d\t%s\t%s\n' $# "$label" "$1"
	shift
done >l.lst
im2rec -o l.rec l.lst images
is "$(im2rec --list l.rec | cut -f 3)" "$(cut -f 2 l.lst)" "--list prints labels as a list has them"
status 0 "--to-tar accepts labels that are not class numbers" im2rec --to-tar -o l.tar l.rec
status 0 "im2rec packs an archive with labels that are not class numbers" im2rec -o l2.rec l.tar
is "$(im2rec --to-tar l.rec | tar xOf - 00000004.json)" '{"labels": ["nan"]}' "--to-tar writes a NaN label as a string"
labels() { # FILE: the label of each record, whether it stands in the header or after it
	im2rec --list "$1" | cut -f 6 | while read -r at; do od -A n -t x4 -j $((at + 12)) -N 4 "$1"; done
}
is "$(labels l2.rec)" "$(labels l.rec)" "labels keep their bits through --to-tar"
im2rec --extract -o lx l.rec && im2rec -o l3.rec lx.lst lx
ok "labels keep their bits through --extract" cmp l.rec l3.rec
im2rec -o evil.rec images && printf '../../up\n.hid\na/b\n' >evil.labels
im2rec --extract -o evil evil.rec
is "$(ls evil | tr '\n' ' ')" "3 4 5 6 7 8 9 _._.._up _hid a_b " "--extract keeps odd class names inside its folder"

# --- damage
at5=$(field t.rec 5 6) at9=$(field t.rec 9 6) at12=$(field t.rec 12 6) at20=$(field t.rec 20 6)
cp t.rec bad.rec && cp t.idx bad.idx && cp t.sum bad.sum
bend bad.rec "$at5" X				# no magic word
bend bad.rec $((at9 + 5)) '\377\377'		# a length of millions
bend bad.rec $((at12 + 90)) 'XXXX'		# within the image
bend bad.rec $((at20 + 8)) '\377\377\377\377'	# more labels than bytes
truncate -s -3 bad.rec
status 1 "--verify exits with status 1 for damaged records" im2rec --verify bad.rec
said err >lines
like lines "^im2rec: bad\.rec: record at $at5: no magic word.*; $(($(field t.rec 6 6) - at5)) bytes skipped$" \
	"--verify reports a damaged magic word"
like lines "^im2rec: bad\.rec: record at $at9: covers the head at $(field t.rec 10 6);" \
	"--verify loses one record to a wrong length"
like lines "^im2rec: bad\.rec: record at $at12, id 12: its checksum differs: the bytes changed" \
	"--verify reports an image that differs from its checksum"
like lines "^im2rec: bad\.rec: record at $at20, id 0: .*labels" "--verify reports a damaged header"
like lines "^im2rec: bad\.rec: record at $(field t.rec 39 6): the stream ends inside it" \
	"--verify reports a truncated last record"
is "$(wc -l <lines)" 5 "--verify reports five damaged records in five lines"
is "$(cat out)" "bad.rec: 37 records, 5 bad, index agrees, sums agree" \
	"--verify finds that index and checksums agree with damaged records"
for j in 1 3 8; do
	im2rec --verify -q -j $j bad.rec 2>err$j
	ok "--verify -j $j reports the same lines" cmp lines err$j
done
rm bad.sum
status 1 "--verify without a .sum file exits with status 1 for damaged records" im2rec --verify bad.rec
like err "^im2rec: bad\.rec: record at $at12, id 12: PNG: " \
	"--verify without a .sum file finds the damaged image by decoding it"
status 1 "--list exits with status 1 for damaged records" im2rec --list bad.rec
is "$(wc -l <out)" 36 "--list continues after damage to the last readable record"
is "$(said err | wc -l)" 4 "--list reports each unreadable record"
rm bad.idx
status 1 "--index exits with status 1 for damaged records" im2rec --index bad.rec
is "$(wc -l <bad.idx)" 36 "--index writes one line per readable record"
is "$(cut -f 1 bad.idx | grep -cE '^(5|9|20|39)$')" 0 "--index omits unreadable records"
cp t.idx keep.idx && cp t.sum keep.sum && rm t.idx t.sum
status 0 "--index exits with status 0 for sound records" im2rec --index t.rec
ok "--index writes the .idx file that packing wrote" cmp t.idx keep.idx
ok "--index writes the .sum file that packing wrote" cmp t.sum keep.sum

# --- wrong files beside the records
sed -i '3d; 8s/^/9/' t.idx
status 1 "--verify exits with status 1 if the index is wrong" im2rec --verify t.rec
like err "^im2rec: t\.idx: lacks the record at $(field t.rec 2 6), id 2$" \
	"--verify reports a record that the index lacks"
like err "^im2rec: t\.idx: the record at $(field t.rec 7 6) has id 7, not 97" "--verify reports a wrong id in the index"
like out '40 records, 0 bad, index differs, sums agree' "--verify counts no bad record if only the index is wrong"
cp keep.idx t.idx
sed -i '4s/.$/x/' t.sum
status 1 "--verify exits with status 1 if a line of checksums is invalid" im2rec --verify t.rec
like err '^im2rec: t\.sum: line 4: not an offset' "--verify gives the number of an invalid line of checksums"
head -n 30 keep.sum >t.sum
status 1 "--verify exits with status 1 if checksums are missing" im2rec --verify t.rec
is "$(grep -c '^im2rec: t\.sum: ' err)" 9 "--verify reports eight missing checksums and counts the others"
sed 4d keep.sum >t.sum
status 1 "--verify exits with status 1 if a checksum is missing" im2rec --verify t.rec
like err "^im2rec: t\.sum: lacks the record at $(field t.rec 3 6), id 3$" "--verify reports a record that has no checksum"
like out '40 records, 0 bad, index agrees, sums differ' "--verify counts no bad record if a checksum is missing"
sed '3{h;d};4G;7p' keep.sum >t.sum
status 1 "--verify exits with status 1 if checksums are out of order" im2rec --verify t.rec
is "$(cat err)" "im2rec: t.sum: lacks the record at $(field t.rec 2 6), id 2
im2rec: t.sum: lists the record at $(field t.rec 2 6) twice or out of order
im2rec: t.sum: lists the record at $(field t.rec 6 6) twice or out of order" "--verify names the checksums that are out of order"
cp keep.sum t.sum
sed 7p keep.idx >t.idx
status 1 "--verify exits with status 1 if the index lists a record twice" im2rec --verify t.rec
is "$(cat err)" "im2rec: t.idx: lists the offset $(field t.rec 6 6) twice" "--verify names the record that the index lists twice"
printf '99\t18446744073709551615\n' | cat keep.idx - >t.idx
status 1 "--verify exits with status 1 if the index has an offset that no file has" im2rec --verify t.rec
cp keep.idx t.idx
printf '18446744073709551615\t80\t0000000000000000\n' | cat keep.sum - >t.sum
status 1 "--verify exits with status 1 if the checksums have an offset that no file has" im2rec --verify t.rec
cp keep.sum t.sum

# --- the command line
status 2 "--extract needs -o" im2rec --extract t.rec
status 2 "--index refuses standard input" im2rec --index - </dev/null
like err 'no place for an index' "--index says that standard input has no place for an index"
status 1 "--list exits with status 1 if the file is missing" im2rec --list none.rec
like err '^im2rec: none\.rec: open: No such file' "--list names a missing file"
status 0 "--list accepts an empty file" im2rec --list /dev/null
done_testing
