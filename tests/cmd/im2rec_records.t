# im2rec_records.t - what im2rec does with records: list, verify, extract, cat, tar, index; and what damage costs.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1
# What was said, without the lines of progress of a run that takes its time.
said() { grep -vE '^im2rec: [0-9]+ pictures, ' "$1"; }

pictures images 40 1 || exit 1	# ten class folders of four, as the demo draws them
im2rec -o t.rec images
field() { im2rec --list "$1" 2>/dev/null | sed -n "$(($2 + 1))p" | cut -f "$3"; }
bend() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; }

# --- looking
status 0 "a list" im2rec --list t.rec
cp out list
is "$(wc -l <list)" 40 "a line each"
is "$(cut -f 2,6 list)" "$(cat t.idx)" "ids and offsets are those of the index"
is "$(cut -f 3 list | uniq -c | tr -s ' \n' ' ')" " 4 0 4 1 4 2 4 3 4 4 4 5 4 6 4 7 4 8 4 9 " "labels"
is "$(sed -n 8p list | cut -f 4,5)" "$(find images -name '*.png' | sort | sed -n 8p | xargs wc -c | cut -d ' ' -f 1)$(printf '\tpng')" \
	"bytes and kind of a picture"
is "$(im2rec --list - <t.rec | cksum)" "$(cksum <list)" "the same from standard input"
is "$(cat t.rec | im2rec --list - | cksum)" "$(cksum <list)" "and from a pipe"
im2rec --list -v t.rec >more
is "$(cut -f 1-6 more | cksum)" "$(cksum <list)" "the same with -v"
is "$(cut -f 8 more)" "$(cut -f 3 t.sum)" "with the sums"
is "$(cut -f 7 more | sort -u)" 32x32x3 "and sizes"
status 0 "sound records" im2rec --verify t.rec
is "$(cat out)" "t.rec: 40 records, 0 bad, index agrees, sums agree" "are told to be"
status 0 "... quietly" im2rec --verify -q t.rec
is "$(cat out err)" "" "or not at all"
status 0 "from a pipe" sh -c 'cat t.rec | im2rec --verify -'
is "$(cat out)" "-: 40 records, 0 bad, no index, no sums" "nothing stands beside"

# --- giving back
is "$(im2rec --cat 7 t.rec | cksum)" "$(find images -name '*.png' | sort | sed -n 8p | xargs cat | cksum)" "a picture"
is "$(im2rec --cat 38-,0,2-3 t.rec | cksum)" \
	"$(find images -name '*.png' | sort | sed -n '1p;3,4p;39,40p' | xargs cat | cksum)" "several, in the file's order"
is "$(im2rec --cat 7 - <t.rec | cksum)" "$(im2rec --cat 7 t.rec | cksum)" "from standard input"
status 1 "one that is not there" im2rec --cat 40 t.rec
like err '^im2rec: t\.rec: it has 40 records, from 0 on' "is told"
for bad in x 3-2 1,, 3-2-1 -1; do
	status 2 "no numbers of records: $bad" im2rec --cat "$bad" t.rec
done
status 0 "pictures into files" im2rec --extract -o x t.rec
is "$(cd x && find . -type d | sort | tr '\n' ' ')" \
	". $(cd images && find . -mindepth 1 -type d | sort | tr '\n' ' ')" "a folder each class"
is "$(find x -type f | wc -l)" 40 "all of them"
im2rec -o again.rec x.lst x
ok "their list packs them again" cmp t.rec again.rec
status 1 "nothing is written over" im2rec --extract -o x t.rec
like err '^im2rec: x: is there and not empty' "it is named"
status 0 "a webdataset" im2rec --to-tar -o t.tar t.rec
is "$(tar tf t.tar | sed -n '1,4p' | tr '\n' ' ')" "00000000.png 00000000.cls 00000001.png 00000001.cls " \
	"pictures and classes, side by side"
is "$(im2rec --to-tar t.rec | cksum)" "$(cksum <t.tar)" "the same to standard output"
im2rec -o w.rec t.tar
ok "it packs to the same records" cmp t.rec w.rec
status 1 "a full disk" sh -c 'im2rec --to-tar t.rec >/dev/full'
like err 'No space left' "is told"
status 1 "a full disk for a list" sh -c 'im2rec --list t.rec >/dev/full'

# --- several labels, fractions, ids that are there twice, names that lead elsewhere
printf '5\t0.5\t1\t-2\t%s\n5\t1e-3\t2\t3\t%s\n' $(cd images && find . -name '*.png' | head -n 2) >m.lst
im2rec -o m.rec m.lst images
is "$(im2rec --list m.rec | cut -f 2,3 | tr '\n\t' '; ')" "5 0.5,1,-2;5 0.00100000005,2,3;" "all labels are listed"
im2rec --extract -o m m.rec && im2rec -o m2.rec m.lst m
ok "and packed again" cmp m.rec m2.rec
is "$(im2rec --to-tar m.rec | tar xOf - 00000005.json)" '{"labels": [0.5, 1, -2]}' "in a webdataset they are JSON"
is "$(im2rec --to-tar m.rec | tar tf - | tr '\n' ' ')" "00000005.png 00000005.json 00000005-1.png 00000005-1.json " \
	"two records are two samples"
im2rec --list m.rec | cut -f 3 >labels
im2rec --to-tar -o m.tar m.rec
is "$(im2rec m.tar | im2rec --list - | cut -f 3)" "$(cat labels)" "a webdataset with labels in JSON is packed again"
is "$(im2rec --to-tar m.rec | im2rec - | im2rec --list - | cut -f 3)" "$(cat labels)" "... from a pipe, too"
im2rec -o evil.rec images && printf '../../up\n.hid\na/b\n\n' >evil.labels
im2rec --extract -o evil evil.rec
is "$(ls evil | tr '\n' ' ')" "3 4 5 6 7 8 9 _._.._up _hid a_b " "classes' names stay inside"

# --- damage
at5=$(field t.rec 5 6) at9=$(field t.rec 9 6) at12=$(field t.rec 12 6) at20=$(field t.rec 20 6)
cp t.rec bad.rec && cp t.idx bad.idx && cp t.sum bad.sum
bend bad.rec "$at5" X				# no magic word
bend bad.rec $((at9 + 5)) '\377\377'		# a length of millions
bend bad.rec $((at12 + 90)) 'XXXX'		# within the picture
bend bad.rec $((at20 + 8)) '\377\377\377\377'	# more labels than bytes
truncate -s -3 bad.rec
status 1 "records with damage" im2rec --verify bad.rec
said err >told
like told "^im2rec: bad\.rec: record at $at5: no magic word.*; $(($(field t.rec 6 6) - at5)) bytes passed over$" "a head that is none"
like told "^im2rec: bad\.rec: record at $at9: reaches over the head at $(field t.rec 10 6);" \
	"a length that is wrong costs one record"
like told "^im2rec: bad\.rec: record at $at12, id 12: its bytes are not those that were written" "a bent picture"
like told "^im2rec: bad\.rec: record at $at20, id 0: .*labels" "a bent head of a picture"
like told "^im2rec: bad\.rec: record at $(field t.rec 39 6): the stream ends inside it" "an end that is missing"
is "$(wc -l <told)" 5 "no other line"
is "$(cat out)" "bad.rec: 37 records, 5 bad, index agrees, sums agree" "what stands beside is not blamed"
for j in 1 3 8; do
	im2rec --verify -q -j $j bad.rec 2>err$j
	ok "the same lines with $j threads" cmp told err$j
done
rm bad.sum
status 1 "without sums" im2rec --verify bad.rec
like err "^im2rec: bad\.rec: record at $at12, id 12: PNG: " "the decoder tells of the bent picture"
status 1 "a list goes on behind damage" im2rec --list bad.rec
is "$(wc -l <out)" 36 "to all that can be listed"
is "$(said err | wc -l)" 4 "a line for each damage"
rm bad.idx
status 1 "a new index" im2rec --index bad.rec
is "$(wc -l <bad.idx)" 36 "of what is sound"
is "$(cut -f 1 bad.idx | grep -cE '^(5|9|20|39)$')" 0 "and nothing else"
cp t.idx keep.idx && cp t.sum keep.sum && rm t.idx t.sum
status 0 "an index for sound records" im2rec --index t.rec
ok "is the one that was there" cmp t.idx keep.idx
ok "with the same sums" cmp t.sum keep.sum

# --- what stands beside is wrong
sed -i '3d; 8s/^/9/' t.idx
status 1 "a wrong index" im2rec --verify t.rec
like err "^im2rec: t\.idx: the record at $(field t.rec 2 6), id 2, is not in it" "a line that is missing"
like err "^im2rec: t\.idx: the record at $(field t.rec 7 6) has id 7, not 97" "an id that is wrong"
like out '40 records, 0 bad, index differs, sums agree' "records are not blamed"
cp keep.idx t.idx
sed -i '4s/.$/x/' t.sum
status 1 "a sum that is none" im2rec --verify t.rec
like err '^im2rec: t\.sum: line 4: not an offset' "is named"
head -n 30 keep.sum >t.sum
status 1 "sums that are missing" im2rec --verify t.rec
is "$(grep -c '^im2rec: t\.sum: ' err)" 9 "are told, the first eight of them"
cp keep.sum t.sum

# --- the command line
status 2 "extract wants a directory" im2rec --extract t.rec
status 2 "an index of a pipe" im2rec --index - </dev/null
like err 'stands beside a file' "has no place to stand"
status 1 "a file that is not there" im2rec --list none.rec
like err '^im2rec: none\.rec: open: No such file' "is named"
status 0 "no bytes are no records" im2rec --list /dev/null
done_testing
