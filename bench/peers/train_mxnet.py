#!/usr/bin/env python3
"""The training step of bench/train.c in MXNet 1.9: train_mxnet.py [--batch N]; threads by OMP_NUM_THREADS.

Says "ready"; for each line "K" on stdin runs K steps and prints their milliseconds on one line.
The net is share/nets/inception.lua, weights and batch are random.
"""
import argparse
import sys
import time

import mxnet as mx
import numpy as np


def cbr(x, k, r, s=1, p=0):
    x = mx.sym.Convolution(x, num_filter=k, kernel=(r, r), stride=(s, s), pad=(p, p))
    return mx.sym.Activation(mx.sym.BatchNorm(x, fix_gamma=False), act_type="relu")


def simple(x, a, b):
    return mx.sym.Concat(cbr(x, a, 1), cbr(x, b, 3, 1, 1))


def down(x, n):
    pool = mx.sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pool_type="max", pooling_convention="full")
    return mx.sym.Concat(cbr(x, n, 3, 2, 1), pool)


def inception():
    x = cbr(mx.sym.Variable("data"), 96, 3, 1, 1)
    for a in ((32, 32), (32, 48), 80, (112, 48), (96, 64), (80, 80), (48, 96), 96, (176, 160), (176, 160)):
        x = simple(x, *a) if isinstance(a, tuple) else down(x, a)
    x = mx.sym.Pooling(x, kernel=(7, 7), pool_type="avg")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=10)
    return mx.sym.SoftmaxOutput(x, name="softmax")


ap = argparse.ArgumentParser()
ap.add_argument("--batch", type=int, default=128)
a = ap.parse_args()
net = mx.mod.Module(inception(), context=mx.cpu())
net.bind(data_shapes=[("data", (a.batch, 3, 28, 28))], label_shapes=[("softmax_label", (a.batch,))])
net.init_params(mx.init.Xavier(factor_type="in", magnitude=2))
# MXNet's loss is a sum: the gradient is divided here.
net.init_optimizer(kvstore=None, optimizer="sgd",
                   optimizer_params=dict(learning_rate=0.01, momentum=0.9, wd=1e-4, rescale_grad=1 / a.batch))
batch = mx.io.DataBatch([mx.nd.array(np.random.randn(a.batch, 3, 28, 28))],
                        [mx.nd.array(np.random.randint(0, 10, a.batch))])


def step():
    net.forward_backward(batch)
    net.update()
    mx.nd.waitall()


def timed():
    t = time.perf_counter()
    step()
    return (time.perf_counter() - t) * 1e3


step()
step()
print("ready", flush=True)
for line in sys.stdin:
    print(" ".join("%.2f" % timed() for _ in range(int(line))), flush=True)
