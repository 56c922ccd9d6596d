"""The arithmetic of a synchronous key-value store of MXNet: what each worker pushes is summed on the servers, exactly."""
import os
import sys

import mxnet as mx  # servers and the scheduler run and end in here

RATE, REPEATS = 2, 3

kv = mx.kv.create("dist_sync")
n = kv.num_workers
small, big = ["3", "5", "7"], ["99"]
shapes = {**{k: (2, 2) for k in small}, **{k: (1200, 1200) for k in big}}  # the big one is cut over the servers
for k, shape in shapes.items():
    kv.init(k, mx.nd.ones(shape))
kv.set_optimizer(mx.optimizer.create("test", rescale_grad=RATE))
for i in range(REPEATS):
    for k, shape in shapes.items():
        kv.push(k, mx.nd.ones(shape) * (kv.rank + 1))
        got = mx.nd.zeros(shape)
        kv.pull(k, out=got)
        want = (n + 1) * n * RATE / 2 * (i + 1) + 1
        if (got.asnumpy() != want).any():
            sys.exit(f"key {k}, round {i}: {got.asnumpy().ravel()[:4]}, want {want}")
print(f"worker {kv.rank} of {n}: {os.environ['DMLC_NUM_SERVER']} servers, {(n + 1) * n * RATE / 2 * REPEATS + 1:g}")
