#!/usr/bin/env bash
# mxnet_rec.t - does MXNet read what we pack, and do we read what it packs?  PEER_MXNET: a python that has mxnet and cv2.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1

if [ -z "${PEER_MXNET:-}" ]; then
	skip "MXNet's readers and writers of records" "PEER_MXNET names no python"
	done_testing
fi
peer() { "$PEER_MXNET" "$TOP/tests/peers/mxnet_rec.py" "$@"; }
status 0 "pictures: JPEG, PNG, grey, with the magic word in them" peer pictures pics
n=$(wc -l <pics.lst)

# --- MXNet reads ours
status 0 "we pack them with three labels" im2rec -o ours.rec pics.lst pics
is "$(perl -0777 -ne 'print scalar(() = /\x0a\x23\xd7\xce/g) > 9 ? "yes" : "no"' ours.rec)" yes "records are cut at the magic word"
status 0 "MXRecordIO and MXIndexedRecordIO give each file back" peer read ours pics pics.lst
is "$(cat out)" "$n" "all of them"
status 0 "ImageRecordIter reads ours" peer iter ours 3 3 32 32 ours.idx
cp out ours.iter
is "$(cut -d ' ' -f 1 out)" "$n" "all of them"
is "$(cut -d ' ' -f 2 out)" "$(awk -F '\t' '{ print $2 "," $3 "," $4 }' pics.lst | sort -g | paste -sd ';')" "and their labels"
status 0 "without the index" peer iter ours 3 3 32 32
is "$(cat out)" "$(cat ours.iter)" "the same"
im2rec -o one.rec --label-width 1 pics.lst pics
status 0 "one label each" peer iter one 1 3 32 32
is "$(cut -d ' ' -f 2 out)" "$(seq -s ';' 0 $((n - 1)))" "stands in the head"
for change in "--resize 40" "--resize 40 --center-crop --encoding png" "--color 0 --resize 36" "--encoding jpg --quality 80"; do
	im2rec -o changed.rec $change --label-width 1 pics.lst pics
	status 0 "changed by $change" peer iter changed 1 3 32 32 changed.idx
	is "$(cut -d ' ' -f 1,2 out)" "$n $(seq -s ';' 0 $((n - 1)))" "all are read"
done
# Why there is a .sum (rec(5)): with one more column its C++ reader takes sums for offsets.
awk '{ print $1 "\t" $2 "\t" NR }' one.idx >three.idx
peer iter one 1 3 32 32 three.idx >out 2>&1
ok "an index of three columns is not read" test $? -ne 0

# --- we read its
peer write theirs pics pics.lst
ok "what MXIndexedRecordIO writes is what we write" cmp theirs.rec ours.rec
ok "and its index" cmp theirs.idx ours.idx
status 0 "its records verify" im2rec --verify theirs.rec
is "$(cat out)" "theirs.rec: $n records, 0 bad, index agrees, no sums" "with its index"
is "$(im2rec --list theirs.rec | cut -f 2-3)" "$(awk -F '\t' '{ print $1 "\t" $2 "," $3 "," $4 }' pics.lst)" "ids and labels"
tool=$("$PEER_MXNET" -c 'import mxnet, os; print(os.path.join(os.path.dirname(mxnet.__file__), "tools", "im2rec.py"))' 2>/dev/null)
pictures images 40 1
im2rec --make-list -o t --recursive images >/dev/null
for how in --pass-through "--encoding .png" "--resize 30 --quality 90" "--resize 30 --color 0 --encoding .png --quality 3"; do
	rm -f t.rec t.idx
	"$PEER_MXNET" "$tool" $how t images >/dev/null 2>&1
	status 0 "im2rec.py $how" im2rec --verify t.rec
	is "$(cat out)" "t.rec: 40 records, 0 bad, index agrees, no sums" "is sound"
	is "$(im2rec --list t.rec | cut -f 2,3 | sort -n)" "$(cut -f 1,2 t.lst | sed 's/\.0*$//' | sort -n)" "ids and labels"
	status 0 "a step of training" pworker --net mlp --data t.rec --batch 20 --steps 1
done
rm t.rec t.idx
"$PEER_MXNET" "$tool" --pass-through t images >/dev/null 2>&1
im2rec -o u.rec t.lst images
ok "im2rec.py --pass-through writes what we write" cmp t.rec u.rec
is "$(im2rec --make-list -o m --recursive --no-shuffle images && cut -f 1,2,3 m.lst)" \
	"$("$PEER_MXNET" "$tool" --list --recursive --no-shuffle v images 2>/dev/null && cut -f 1,2,3 v.lst)" "and lists what we list"
done_testing
