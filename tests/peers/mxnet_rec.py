#!/usr/bin/env python3
# mxnet_rec.py - MXNet's readers on records of ours, and records of its writers for ours.
#
#	mxnet_rec.py pictures DIR       pictures that try a packer, and DIR.lst: three labels each
#	mxnet_rec.py read FILE DIR LST  FILE.rec and FILE.idx hold the files that the list names, with their labels
#	mxnet_rec.py iter FILE LABELS C H W [IDX]  prints records, labels and a sum of pixels that ImageRecordIter gives
#	mxnet_rec.py write FILE DIR LST recordio.pack() and MXIndexedRecordIO make FILE.rec
import os
import struct
import sys

import cv2
import mxnet as mx
import numpy as np

MAGIC = struct.pack('<I', 0xced7230a)


def jpeg(rng, h, w, c, hidden=b''):
    px = cv2.resize(rng.integers(0, 256, (8, 8, c), dtype=np.uint8), (w, h), interpolation=cv2.INTER_CUBIC)
    ok, data = cv2.imencode('.jpg', px)
    data = data.tobytes()
    if hidden:  # a comment behind the first marker
        data = data[:2] + b'\xff\xfe' + struct.pack('>H', len(hidden) + 2) + hidden + data[2:]
    return data


def pictures(folder):
    rng = np.random.default_rng(1)
    made = {
        'plain.jpg': jpeg(rng, 64, 96, 3),
        'grey.jpg': jpeg(rng, 70, 50, 1),
        # The magic word at each of the four alignments, and several times in a row.
        **{'magic%d.jpg' % i: jpeg(rng, 48, 48, 3, b'x' * i + MAGIC * (i + 1)) for i in range(4)},
        'tall.jpg': jpeg(rng, 120, 40, 3),
    }
    for name, c in ('colour.png', 3), ('grey.png', 1):
        made[name] = cv2.imencode('.png', rng.integers(0, 256, (33, 47, c), dtype=np.uint8))[1].tobytes()
    os.mkdir(folder)
    with open(folder + '.lst', 'w') as lst:
        for i, (name, data) in enumerate(made.items()):
            with open(os.path.join(folder, name), 'wb') as f:
                f.write(data)
            print(100 + 7 * i, i, '%g' % (i / 4), -i, name, sep='\t', file=lst)


def entries(lst):
    for line in open(lst):
        field = line.rstrip('\n').split('\t')
        yield int(field[0]), [float(x) for x in field[1:-1]], field[-1]


def same(raw, number, labels, path):
    head, pic = mx.recordio.unpack(raw)
    assert head.id == number, (head, number)
    assert np.array_equal(np.atleast_1d(head.label), np.float32(labels)), (head, labels)
    assert pic == open(path, 'rb').read(), path


def read(name, folder, lst):
    plain = mx.recordio.MXRecordIO(name + '.rec', 'r')
    n = 0
    for number, labels, path in entries(lst):
        same(plain.read(), number, labels, os.path.join(folder, path))
        n += 1
    assert plain.read() is None
    indexed = mx.recordio.MXIndexedRecordIO(name + '.idx', name + '.rec', 'r')
    for number, labels, path in reversed(list(entries(lst))):
        same(indexed.read_idx(number), number, labels, os.path.join(folder, path))
    print(n)


def iterate(name, labels, c, h, w, idx=None):
    it = mx.io.ImageRecordIter(path_imgrec=name + '.rec', label_width=labels, data_shape=(c, h, w), batch_size=1, **({'path_imgidx': idx} if idx else {}))
    n, pixels, seen = 0, 0.0, []
    for b in it:
        n += 1
        pixels += float(b.data[0].asnumpy().astype(np.float64).sum())
        seen.append(b.label[0].asnumpy().ravel().tolist())
    print(n, ';'.join(','.join('%g' % x for x in l) for l in sorted(seen)), '%.0f' % pixels)


def write(name, folder, lst):
    out = mx.recordio.MXIndexedRecordIO(name + '.idx', name + '.rec', 'w')
    for number, labels, path in entries(lst):
        label = labels if len(labels) > 1 else labels[0]
        pic = open(os.path.join(folder, path), 'rb').read()
        out.write_idx(number, mx.recordio.pack(mx.recordio.IRHeader(0, label, number, 0), pic))
    out.close()


verb, args = sys.argv[1], sys.argv[2:]
if verb == 'iter':
    iterate(args[0], *map(int, args[1:5]), *args[5:])
else:
    {'pictures': pictures, 'read': read, 'write': write}[verb](*args)
