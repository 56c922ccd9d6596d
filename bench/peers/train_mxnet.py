#!/usr/bin/env python3
"""The training step of bench/train.c in MXNet 1.9, f32, with its options: train_mxnet.py [--net NAME] ...

With --pass evaluate a step is a forward pass in evaluation mode.  Threads by OMP_NUM_THREADS.
Says "ready" and the version; for each line "K" on stdin runs K steps and prints their milliseconds on one line.
Weights and batch are random.
"""
import argparse
import sys
import time

import mxnet as mx
import numpy as np


def bn(x, act="relu", fix=False, eps=2e-5):
    x = mx.sym.BatchNorm(x, fix_gamma=fix, eps=eps)
    return mx.sym.LeakyReLU(x, act_type="gelu") if act == "gelu" else mx.sym.Activation(x, act_type=act)


def conv(x, k, r, s=1, p=0, bias=False):
    return mx.sym.Convolution(x, num_filter=k, kernel=(r, r), stride=(s, s), pad=(p, p), no_bias=not bias)


def pool(x, r, s, p=0, **more):
    return mx.sym.Pooling(x, kernel=(r, r), stride=(s, s), pad=(p, p), **more)


def inception(x, options, height):
    def cbr(x, k, r, s=1, p=0):
        return bn(conv(x, k, r, s, p, bias=True), eps=1e-3)

    x = cbr(x, 96, 3, 1, 1)
    for a in ((32, 32), (32, 48), 80, (112, 48), (96, 64), (80, 80), (48, 96), 96, (176, 160), (176, 160)):
        x = mx.sym.Concat(cbr(x, a[0], 1), cbr(x, a[1], 3, 1, 1)) if isinstance(a, tuple) else \
            mx.sym.Concat(cbr(x, a, 3, 2, 1), pool(x, 3, 2, pool_type="max", pooling_convention="full"))
    return pool(x, 7, 1, pool_type="avg")


def resnet(x, options, height):
    small = height <= 28
    layers = int(options.get("layers", 20 if small else 50))
    units = [(layers - 2) // 6] * 3 if small else {18: [2, 2, 2, 2], 34: [3, 4, 6, 3], 50: [3, 4, 6, 3], 101: [3, 4, 23, 3]}[layers]
    bottleneck = not small and layers >= 50
    filters = [16, 32, 64] if small else [256, 512, 1024, 2048] if bottleneck else [64, 128, 256, 512]
    x = mx.sym.BatchNorm(x, fix_gamma=True, eps=2e-5)
    x = conv(x, 16, 3, 1, 1) if small else pool(bn(conv(x, 64, 7, 2, 3)), 3, 2, 1, pool_type="max")
    for i, n in enumerate(units):
        k = filters[i]
        for j in range(n):
            s = 2 if i and not j else 1
            a = bn(x)
            if bottleneck:
                b = conv(bn(conv(bn(conv(a, k // 4, 1)), k // 4, 3, s, 1)), k, 1)
            else:
                b = conv(bn(conv(a, k, 3, s, 1)), k, 3, 1, 1)
            x = b + (x if j else conv(a, k, 1, s))
    return pool(bn(x), 7, 1, global_pool=True, pool_type="avg")


def vgg(x, options, height):
    groups = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}[int(options.get("layers", 16))]
    for n, k in zip(groups, (64, 128, 256, 512, 512)):
        for _ in range(n):
            x = mx.sym.Activation(conv(x, k, 3, 1, 1, bias=True), act_type="relu")
        x = pool(x, 2, 2, pool_type="max")
    for _ in range(2):
        x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=4096)
        x = mx.sym.Dropout(mx.sym.Activation(x, act_type="relu"))
    return x


def fast(x, options, height):
    x = mx.sym.LeakyReLU(conv(x, 24, 2, bias=True), act_type="gelu")
    for k in (64, 256, 256):
        x = bn(pool(conv(x, k, 3, 1, 1), 2, 2, pool_type="max"), "gelu", True)
        x = bn(conv(x, k, 3, 1, 1), "gelu", True)
    return pool(x, 3, 1, global_pool=True, pool_type="max")


NETS = {"inception": (inception, "3x28x28", 10), "resnet": (resnet, "3x28x28", 10), "vgg": (vgg, "3x224x224", 1000),
        "fast": (fast, "3x32x32", 10)}
ap = argparse.ArgumentParser()
ap.add_argument("--net", default="inception")
ap.add_argument("--net-opt", action="append", default=[])
ap.add_argument("--shape")
ap.add_argument("--classes", type=int)
ap.add_argument("--batch", type=int, default=128)
ap.add_argument("--pass", dest="what", default="train", choices=("train", "evaluate"))
a = ap.parse_args()
make, shape, classes = NETS[a.net]
options = dict(o.split("=", 1) for o in a.net_opt)
if a.net == "resnet" and (int(a.shape.split("x")[1]) > 28 if a.shape else options.get("layers", "20") in ("18", "34", "50", "101")):
    shape, classes = "3x224x224", 1000
shape, classes = tuple(int(n) for n in (a.shape or shape).split("x")), a.classes or classes
top = mx.sym.FullyConnected(mx.sym.Flatten(make(mx.sym.Variable("data"), options, shape[1])), num_hidden=classes,
                            no_bias=a.net == "fast")
if a.net == "fast":
    top = mx.sym.SoftmaxOutput(top / 9, name="softmax", smooth_alpha=0.2)
else:
    top = mx.sym.SoftmaxOutput(top, name="softmax")
net = mx.mod.Module(top, context=mx.cpu())
net.bind(data_shapes=[("data", (a.batch,) + shape)], label_shapes=[("softmax_label", (a.batch,))])
net.init_params(mx.init.Xavier(factor_type="in", magnitude=2))
# MXNet's loss is a sum: the gradient is divided here.
net.init_optimizer(kvstore=None, optimizer="sgd",
                   optimizer_params=dict(learning_rate=0.01, momentum=0.9, wd=1e-4, rescale_grad=1 / a.batch))
batch = mx.io.DataBatch([mx.nd.array(np.random.randn(a.batch, *shape))], [mx.nd.array(np.random.randint(0, classes, a.batch))])


def step():
    if a.what == "evaluate":
        net.forward(batch, is_train=False)
    else:
        net.forward_backward(batch)
        net.update()
    mx.nd.waitall()


def timed():
    t = time.perf_counter()
    step()
    return (time.perf_counter() - t) * 1e3


step()
step()
print("ready", mx.__version__, flush=True)
for line in sys.stdin:
    print(" ".join("%.2f" % timed() for _ in range(int(line))), flush=True)
