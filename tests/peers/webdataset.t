#!/usr/bin/env bash
# webdataset.t - webdataset of PyPI reads what im2rec --to-tar writes.
#
# PEER_WEBDATASET is a python that has webdataset.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1
PEER_WEBDATASET=${PEER_WEBDATASET:-python3}

if ! "$PEER_WEBDATASET" -c 'import webdataset' 2>/dev/null; then
	skip "webdataset reads --to-tar" "$PEER_WEBDATASET has no webdataset"
	done_testing
	exit
fi
pictures images 30 1 && im2rec -q -o a.rec images && im2rec -q --to-tar -o a.tar a.rec || exit 1
cat >read.py <<'END'
import hashlib
import webdataset

for sample in webdataset.WebDataset("a.tar", shardshuffle=False):
    print(int(sample["__key__"]), int(sample["cls"]), hashlib.md5(sample["png"]).hexdigest(), sep="\t")
END
status 0 "webdataset reads --to-tar" "$PEER_WEBDATASET" read.py
cp out got
im2rec --list a.rec | cut -f 2,3 | sort -n >labels
ok "ids and labels are those of the records" cmp labels <(cut -f 1,2 got | sort -n)
is "$(cut -f 3 got | sort)" "$(find images -name '*.png' -exec md5sum {} + | cut -d ' ' -f 1 | sort)" "images are the files"
done_testing
