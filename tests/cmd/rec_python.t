#!/usr/bin/env bash
# rec_python.t - the class of rec(5) reads records in Python.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1

if ! command -v python3 >/dev/null; then
	skip "Python reads records" "no python3"
	done_testing
	exit
fi
sed -n '/^import os, struct/,/^\.Ed/p' "$TOP/man/rec.5" | sed '$d; s/\\-/-/g' >records.py
cat >compare.py <<'END'
# compare.py FILE.rec LIST: whether each record is the file of the list with this number, with its labels.
import sys
from records import Records

records = Records(sys.argv[1])
want = {}
for line in open(sys.argv[2]):
    number, *labels, name = line.rstrip("\n").split("\t")
    want[int(number)] = tuple(map(float, labels)), open("images/" + name, "rb").read()
assert len(records) == len(want), len(records)
for i in range(len(records)):
    image, labels, number = records[i]
    assert (labels, image) == want[number], number
    del want[number]
print("equal")
END

pictures images 20 1 || exit 1
# The magic word at each alignment, and twice in a row: such records have several parts.
i=0
for f in $(find images -name '*.png' | sort | head -n 5); do
	{ head -c $i /dev/zero; printf '\012\043\327\316\012\043\327\316'; head -c $i /dev/zero; } >>"$f"
	i=$((i + 1))
done
(cd images && find . -name '*.png' | sort | awk -v OFS='\t' '{ print NR * 3, NR % 4, substr($0, 3) }') >one.lst
awk -F'\t' -v OFS='\t' '{ print $1, $2, 0.5, -$2, $3 }' one.lst >three.lst
im2rec -q -o one.rec one.lst images && im2rec -q --label-width 3 -o three.rec three.lst images || exit 1
ok "some records have parts" test "$(od -An -v -tx4 -w4 one.rec | grep -c 'ced7230a')" -gt 20
for n in one three; do
	status 0 "Python reads records with labels: $n" python3 compare.py $n.rec $n.lst
	is "$(cat "$T/out")" equal "images, labels and ids are those of the list: $n"
done
printf 'x' | dd of=one.rec bs=1 seek=0 conv=notrunc 2>/dev/null
status 1 "a record without the magic word fails" python3 compare.py one.rec one.lst
like "$T/err" '^ValueError: no record at 0$' "the error has its place"
done_testing
