# mxnet_nets - MXNet's nets with random weights, and what they compute.
#
#	python3 tests/peers/mxnet_nets.py NET FOLDER [ceil] [spread]
#	python3 tests/peers/mxnet_nets.py NET FOLDER gluon	one of the model zoo, as save_parameters() names its arrays
#	python3 tests/peers/mxnet_nets.py NET FOLDER back	whether load_parameters() takes back.params, and it is theirs.params
#
# NET is one that ends in _v2, of its model zoo, or a symbol of its examples: inception-bn or inception, as of 2016 to 2023 or, with
# `ceil`, until July 2016, when pools rounded up and had no border; resnet20 or resnet164, of 2016 to 2023; or small20, the
# residual net of spring 2016, whose batch norm has that time's defaults, which are still those of today.  Weights and
# running statistics are those that its initializer begins with; with `spread` gammas and betas are noise, and the
# statistics those of the pictures.  The last layer's weights are then taken times a power of two, so that scores are of
# about 1: an exact change of every score, and of softmax's logarithms as many digits are left.
#
# FOLDER gets theirs.params under MXNet's names, x.f32 [N,3,H,W], and logits.f32 [N,classes] in evaluation.
import math
import os
import sys

os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"  # layers as they are, none fused
import mxnet as mx
import numpy as np
from mxnet.gluon.model_zoo import vision

net, folder = sys.argv[1:3]
ceil = "ceil" in sys.argv[3:]
small = net in ("inception", "resnet20", "resnet164", "small20")
n, side = (64, 28) if small else (4, 224)


def factory(x, k, name, kernel=1, stride=1, pad=0):
    x = mx.sym.Convolution(x, num_filter=k, kernel=(kernel,) * 2, stride=(stride,) * 2, pad=(pad,) * 2, name="conv_" + name)
    x = mx.sym.BatchNorm(x, eps=1e-10 + 1e-5, momentum=0.9, fix_gamma=False, name="bn_" + name)
    return mx.sym.Activation(x, act_type="relu", name="relu_" + name)


def halve(x, name, pad=1):
    how = {"pooling_convention": "full"} if ceil else {"pad": (pad, pad)}
    return mx.sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pool_type="max", name=name, **how)


def inception(x):
    x = factory(x, 96, "1", 3, 1, 1)
    for name, a, b in (("3a", 32, 32), ("3b", 32, 48), ("3c", 0, 80), ("4a", 112, 48), ("4b", 96, 64), ("4c", 80, 80),
                       ("4d", 48, 96), ("4e", 0, 96), ("5a", 176, 160), ("5b", 176, 160)):
        name = "in" + name
        if a:
            x = mx.sym.Concat(factory(x, a, name + "_1x1"), factory(x, b, name + "_3x3", 3, 1, 1))
        else:
            x = mx.sym.Concat(factory(x, b, name + "_conv", 3, 2, 1), halve(x, name + "_pool"))
    return x


def inception_bn(x):
    # 1x1 (0: a block that halves), 3x3's two, the double 3x3's two, the pool's kind and projection.
    blocks = {"3a": (64, 64, 64, 64, 96, "avg", 32), "3b": (64, 64, 96, 64, 96, "avg", 64), "3c": (0, 128, 160, 64, 96),
              "4a": (224, 64, 96, 96, 128, "avg", 128), "4b": (192, 96, 128, 96, 128, "avg", 128),
              "4c": (160, 128, 160, 128, 160, "avg", 128), "4d": (96, 128, 192, 160, 192, "avg", 128),
              "4e": (0, 128, 192, 192, 256), "5a": (352, 192, 320, 160, 224, "avg", 128),
              "5b": (352, 192, 320, 192, 224, "max", 128)}
    x = halve(factory(x, 64, "1", 7, 2, 3), "pool_1", 0)
    x = halve(factory(factory(x, 64, "2_red"), 192, "2", 3, 1, 1), "pool_2", 0)
    for name, (one, r3, k3, rd, kd, *pool) in blocks.items():
        stride = 1 if one else 2
        three = factory(factory(x, r3, name + "_3x3_reduce"), k3, name + "_3x3", 3, stride, 1)
        double = factory(factory(x, rd, name + "_double_3x3_reduce"), kd, name + "_double_3x3_0", 3, 1, 1)
        double = factory(double, kd, name + "_double_3x3_1", 3, stride, 1)
        if one:
            kind, proj = pool
            p = mx.sym.Pooling(x, kernel=(3, 3), stride=(1, 1), pad=(1, 1), pool_type=kind)
            x = mx.sym.Concat(factory(x, one, name + "_1x1"), three, double, factory(p, proj, name + "_proj"))
        else:
            x = mx.sym.Concat(three, double, halve(x, name + "_pool"))
    return x


def convolve(x, k, name, kernel=3, stride=1, bias=False):
    return mx.sym.Convolution(x, num_filter=k, kernel=(kernel,) * 2, stride=(stride,) * 2, pad=(kernel // 2,) * 2,
                              no_bias=not bias, name=name)


def relu(x):
    return mx.sym.Activation(x, act_type="relu")


def preact(x, units, widths, narrow):
    """Bottlenecks where their inside is `narrow` times narrower."""
    def norm(x, name):
        return relu(mx.sym.BatchNorm(x, eps=2e-5, momentum=0.9, fix_gamma=False, name=name))

    def unit(x, k, stride, first, name):
        a = norm(x, name + "_bn1")
        if narrow > 1:
            y = norm(convolve(a, k // narrow, name + "_conv1", 1), name + "_bn2")
            y = norm(convolve(y, k // narrow, name + "_conv2", 3, stride), name + "_bn3")
            y = convolve(y, k, name + "_conv3", 1)
        else:
            y = convolve(norm(convolve(a, k, name + "_conv1", 3, stride), name + "_bn2"), k, name + "_conv2")
        return y + (convolve(a, k, name + "_sc", 1, stride) if first else x)

    x = mx.sym.BatchNorm(x, eps=2e-5, momentum=0.9, fix_gamma=True, name="bn_data")
    x = convolve(x, 16, "conv0")
    for s, k in enumerate(widths, 1):
        for u in range(1, units + 1):
            x = unit(x, k, 2 if s > 1 and u == 1 else 1, u == 1, f"stage{s}_unit{u}")
    return norm(x, "bn1")


def postact(x, units):
    def factory(x, k, name, kernel=3, stride=1):
        return mx.sym.BatchNorm(convolve(x, k, name, kernel, stride, True), name=name + "_bn")

    x = relu(factory(x, 16, "conv0"))
    for s, k in enumerate((16, 32, 64), 1):
        for u in range(1, units + 1):
            stride, name = 2 if s > 1 and u == 1 else 1, f"stage{s}_unit{u}"
            y = factory(relu(factory(x, k, name + "_a", 3, stride)), k, name + "_b")
            x = relu(y + (factory(x, k, name + "_sc", 1, 2) if stride > 1 else x))
    return x


def symbol():
    x = mx.sym.Variable("data")
    made = {"inception": inception, "inception-bn": inception_bn, "resnet20": lambda x: preact(x, 3, (16, 32, 64), 1),
            "resnet164": lambda x: preact(x, 18, (64, 128, 256), 4), "small20": lambda x: postact(x, 3)}
    x = mx.sym.Pooling(made[net](x), kernel=(7, 7), stride=(1, 1), pool_type="avg")
    name = "fullyconnected0" if net.startswith("inception") else "fc1"
    return mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=10 if small else 1000, name=name)


def zoo():
    made = getattr(vision, net)(prefix="resnetv20_")
    made.initialize()
    made(mx.nd.zeros((1, 3, side, side)))
    return made(mx.sym.Variable("data"))


def gluon(x):
    """Weights and statistics that are all noise, so that no two arrays may be taken for each other."""
    made = getattr(vision, net)()
    made.initialize(mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2))
    made(x)
    for name, p in made.collect_params().items():
        if p.shape[1:] == ():
            lo = 0.5 if name.endswith(("gamma", "var")) else -0.1
            p.set_data(mx.nd.array(np.random.uniform(lo, lo + (1 if lo > 0 else 0.2), p.shape)))
    times = 2.0 ** -round(math.log2(made(x).asnumpy().std()))
    for p in (made.output.weight, made.output.bias):
        p.set_data(p.data() * times)
    print("times", times)
    made.save_parameters(f"{folder}/theirs.params")
    x.asnumpy().tofile(f"{folder}/x.f32")
    made(x).asnumpy().tofile(f"{folder}/logits.f32")


mx.random.seed(5)
np.random.seed(5)
x = mx.nd.array(np.random.randn(n, 3, side, side))
if "back" in sys.argv[3:]:
    getattr(vision, net)().load_parameters(f"{folder}/back.params")
    theirs, back = (mx.nd.load(f"{folder}/{k}.params") for k in ("theirs", "back"))
    assert set(theirs) == set(back) and all((v.asnumpy() == back[k].asnumpy()).all() for k, v in theirs.items())
    sys.exit()
if "gluon" in sys.argv[3:]:
    gluon(x)
    sys.exit()
run = (zoo() if net.endswith("_v2") else symbol()).simple_bind(mx.cpu(), data=x.shape)
arg, aux = run.arg_dict, run.aux_dict
begin = mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2)
for name, a in arg.items():
    if name == "data":
        a[:] = x
    else:
        begin(mx.init.InitDesc(name), a)
for name, a in aux.items():
    a[:] = name.endswith("var")
if "spread" in sys.argv[3:]:
    for name, a in arg.items():
        if name.endswith(("gamma", "beta")):
            lo = 0.5 if name.endswith("gamma") else -0.5
            a[:] = np.random.uniform(lo, lo + 1, a.shape)
    for a in aux.values():
        a[:] = 0
    run.backward(run.forward(is_train=True)[0])  # which makes the running statistics,
    mx.nd.waitall()  # unseen by who waits for one of them,
    for a in aux.values():
        a *= 10  # and leaves 0.9 of what was before
times = 2.0 ** -round(math.log2(run.forward()[0].asnumpy().std()))
for name, a in arg.items():
    if name.startswith(("resnetv20_dense", "fullyconnected", "fc1")):
        a *= times
print("times", times)
theirs = [("arg:" + k, v) for k, v in arg.items() if k != "data"] + [("aux:" + k, v) for k, v in aux.items()]
mx.nd.save(f"{folder}/theirs.params", dict(theirs))
x.asnumpy().tofile(f"{folder}/x.f32")
run.forward()[0].asnumpy().tofile(f"{folder}/logits.f32")
