#!/usr/bin/env bash
# mxnet_rec.t - MXNet reads our records, and we read MXNet's.  PEER_MXNET: a python that has mxnet and cv2.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1

if [ -z "${PEER_MXNET:-}" ]; then
	skip "MXNet's readers and writers of records" "PEER_MXNET names no python"
	done_testing
fi
peer() { "$PEER_MXNET" "$TOP/tests/peers/mxnet_rec.py" "$@"; }
status 0 "images are made: JPEG, PNG, grey, with the magic word in them" peer pictures pics
n=$(wc -l <pics.lst)

# --- MXNet reads ours
status 0 "im2rec packs images with three labels" im2rec -o ours.rec pics.lst pics
is "$(perl -0777 -ne 'print scalar(() = /\x0a\x23\xd7\xce/g) > 9 ? "yes" : "no"' ours.rec)" yes \
	"im2rec divides records at the magic word"
status 0 "MXRecordIO and MXIndexedRecordIO return each file" peer read ours pics pics.lst
is "$(cat out)" "$n" "MXRecordIO and MXIndexedRecordIO read all records"
status 0 "ImageRecordIter reads ours" peer iter ours 3 3 32 32 ours.idx
cp out ours.iter
is "$(cut -d ' ' -f 1 out)" "$n" "ImageRecordIter reads all records"
is "$(cut -d ' ' -f 2 out)" "$(awk -F '\t' '{ print $2 "," $3 "," $4 }' pics.lst | sort -g | paste -sd ';')" \
	"ImageRecordIter reads our labels"
status 0 "ImageRecordIter reads ours without the index" peer iter ours 3 3 32 32
is "$(cat out)" "$(cat ours.iter)" "ImageRecordIter without the index reads the same"
im2rec -o one.rec --label-width 1 pics.lst pics
status 0 "ImageRecordIter reads records with one label" peer iter one 1 3 32 32
is "$(cut -d ' ' -f 2 out)" "$(seq -s ';' 0 $((n - 1)))" "ImageRecordIter reads labels in the header"
for change in "--resize 40" "--resize 40 --center-crop --encoding png" "--color 0 --resize 36" "--encoding jpg --quality 80"; do
	im2rec -o changed.rec $change --label-width 1 pics.lst pics
	status 0 "ImageRecordIter reads images changed by $change" peer iter changed 1 3 32 32 changed.idx
	is "$(cut -d ' ' -f 1,2 out)" "$n $(seq -s ';' 0 $((n - 1)))" \
		"ImageRecordIter reads all images changed by $change"
done
# The reason for a .sum (rec(5)): the C++ reader takes a third column for offsets.
awk '{ print $1 "\t" $2 "\t" NR }' one.idx >three.idx
peer iter one 1 3 32 32 three.idx >out 2>&1
ok "MXNet does not read an index of three columns" test $? -ne 0

# --- we read its
peer write theirs pics pics.lst
ok "MXIndexedRecordIO writes im2rec's bytes" cmp theirs.rec ours.rec
ok "MXIndexedRecordIO writes im2rec's index" cmp theirs.idx ours.idx
status 0 "im2rec --verify accepts MXNet's records" im2rec --verify theirs.rec
is "$(cat out)" "theirs.rec: $n records, 0 bad, index agrees, no sums" "im2rec --verify accepts MXNet's index"
is "$(im2rec --list theirs.rec | cut -f 2-3)" "$(awk -F '\t' '{ print $1 "\t" $2 "," $3 "," $4 }' pics.lst)" \
	"im2rec --list shows MXNet's ids and labels"
tool=$("$PEER_MXNET" -c 'import mxnet, os; print(os.path.join(os.path.dirname(mxnet.__file__), "tools", "im2rec.py"))' 2>/dev/null)
pictures images 40 1
im2rec --make-list -o t --recursive images >/dev/null
for how in --pass-through "--encoding .png" "--resize 30 --quality 90" "--resize 30 --color 0 --encoding .png --quality 3"; do
	rm -f t.rec t.idx
	"$PEER_MXNET" "$tool" $how t images >/dev/null 2>&1
	status 0 "im2rec --verify accepts records of im2rec.py $how" im2rec --verify t.rec
	is "$(cat out)" "t.rec: 40 records, 0 bad, index agrees, no sums" "all records of im2rec.py $how are valid"
	is "$(im2rec --list t.rec | cut -f 2,3 | sort -n)" "$(cut -f 1,2 t.lst | sed 's/\.0*$//' | sort -n)" \
		"im2rec --list shows ids and labels of im2rec.py $how"
	status 0 "pworker trains on records of im2rec.py $how" pworker --net mlp --data t.rec --batch 20 --steps 1
done
rm t.rec t.idx
"$PEER_MXNET" "$tool" --pass-through t images >/dev/null 2>&1
im2rec -o u.rec t.lst images
ok "im2rec.py --pass-through writes im2rec's bytes" cmp t.rec u.rec
is "$(im2rec --make-list -o m --recursive --no-shuffle images && cut -f 1,2,3 m.lst)" \
	"$("$PEER_MXNET" "$tool" --list --recursive --no-shuffle v images 2>/dev/null && cut -f 1,2,3 v.lst)" \
		"im2rec.py --list writes im2rec's list"
done_testing
