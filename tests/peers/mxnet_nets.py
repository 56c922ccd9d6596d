# mxnet_nets - resnet50_v2 of MXNet's model zoo with random weights under our names, and what it computes.
#
#	python3 tests/peers/mxnet_nets.py FOLDER
#
# FOLDER gets weights.safetensors, x.f32 [N,3,H,W] and logits.f32 [N,1000] in evaluation, with running statistics of the
# same pictures so that activations keep their size.
import json
import struct
import sys

import mxnet as mx
import numpy as np
from mxnet.gluon.model_zoo import vision

N = 4
folder = sys.argv[1]
mx.random.seed(5)
np.random.seed(5)
net = vision.resnet50_v2()
net.initialize(mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2))
x = mx.nd.array(np.random.randn(N, 3, 224, 224).astype("f"))
net(x)


def norms():
    for name, p in net.collect_params().items():
        if name.endswith("gamma"):
            yield p, 0.5, 1.5
        elif name.endswith("beta"):
            yield p, -0.5, 0.5


for p, lo, hi in norms():
    if p.grad_req != "null":
        p.set_data(mx.nd.array(np.random.uniform(lo, hi, p.shape)))
for _ in range(12):  # 0.9 of the running statistics stay in a pass
    with mx.autograd.train_mode():
        mx.nd.waitall()
        net(x)
# Scores of about 1: the test reads them off the logarithms of probabilities.
net.output.weight.set_data(net.output.weight.data() / float(net(x).asnumpy().std()))

arrays = {}


def conv(name, layer):
    arrays[name + "_weight"] = layer.weight


def norm(name, layer):
    for ours, theirs in ("gamma", "gamma"), ("beta", "beta"), ("moving_mean", "running_mean"), ("moving_var", "running_var"):
        arrays[f"{name}_{ours}"] = getattr(layer, theirs)


f = net.features
norm("bn_data", f[0])
conv("conv0", f[1])
norm("bn0", f[2])
for s in range(4):
    for u, unit in enumerate(f[5 + s]):
        name = f"stage{s + 1}_unit{u + 1}"
        for i in 1, 2, 3:
            norm(f"{name}_bn{i}", getattr(unit, f"bn{i}"))
            conv(f"{name}_conv{i}", getattr(unit, f"conv{i}"))
        if unit.downsample is not None:
            conv(f"{name}_sc", unit.downsample)
norm("bn1", f[9])
arrays["fc1_weight"], arrays["fc1_bias"] = net.output.weight, net.output.bias

head, at, data = {}, 0, []
for name, p in arrays.items():
    a = p.data().asnumpy().astype("<f4")
    head[name] = {"dtype": "F32", "shape": a.shape, "data_offsets": [at, at + a.nbytes]}
    at += a.nbytes
    data.append(a.tobytes())
head = json.dumps(head).encode()
with open(f"{folder}/weights.safetensors", "wb") as out:
    out.write(struct.pack("<Q", len(head)) + head + b"".join(data))
x.asnumpy().tofile(f"{folder}/x.f32")
net(x).asnumpy().tofile(f"{folder}/logits.f32")
