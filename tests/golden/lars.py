#!/usr/bin/env python3
"""Makes lars_mxnet.h: what MXNet's LARS does to the net of norms_test.c.  python3 lars.py > lars_mxnet.h"""
import mxnet as mx
import numpy as np

SHAPES = [("a_weight", (8, 6)), ("a_bias", (8,)), ("m_weight", (4, 8)), ("m_bias", (4,)), ("b_weight", (3, 4)), ("b_bias", (3,))]
STEPS = 4


def numbers(mul, add, mod, div):
    at, out = 0, []
    for _, s in SHAPES:
        n = int(np.prod(s))
        out.append(np.array([((i * mul + add) % mod - mod // 2) / div for i in range(at, at + n)], dtype="float32").reshape(s))
        at += n
    return out


o = mx.optimizer.LARS(learning_rate=2.0, momentum=0.9, eta=0.02, eps=0, wd=0.01, rescale_grad=1 / 8,
                      param_idx2name={i: n for i, (n, _) in enumerate(SHAPES)}, momentum_correction=False)
w = [mx.nd.array(x) for x in numbers(37, 0, 101, 64)]
s = [o.create_state(i, x) for i, x in enumerate(w)]
for t in range(STEPS):
    o.update(list(range(len(w))), w, [mx.nd.array(8 * g) for g in numbers(53, 29 * t, 97, 32)], s)
flat = np.concatenate([x.asnumpy().flatten() for x in w])
print("/* lars_mxnet - weights after %d steps of LARS by MXNet %s; made by lars.py. */" % (STEPS, mx.__version__))
print("static const float mxnet_lars[107] = {")
for i in range(0, len(flat), 8):
    print("\t" + " ".join("%.9g," % x for x in flat[i:i + 8]))
print("};")
