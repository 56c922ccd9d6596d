#!/usr/bin/env python3
"""Makes rules_mxnet.h: what MXNet's optimizers do to the net of rules_test.c.  python3 rules_mxnet.py > rules_mxnet.h"""
import mxnet as mx
import numpy as np

SHAPES = [("a_weight", (8, 6)), ("a_bias", (8,)), ("bn_gamma", (8,)), ("bn_beta", (8,)), ("b_weight", (3, 8)), ("b_bias", (3,))]
RATES = [0.0625, 0.0625, 0.015625, 0.03125]
STEADY = [0.0625] * 4
# MXNet decays what is called _weight or _gamma; where a name says nothing, all.
NAMES = {i: n for i, (n, _) in enumerate(SHAPES)}
RULES = "wd:*_bias=0;wd:*_beta=0"


def numbers(mul, add, mod, div):
    at, out = 0, []
    for _, s in SHAPES:
        n = int(np.prod(s))
        out.append(np.array([((i * mul + add) % mod - mod // 2) / div for i in range(at, at + n)], dtype="float32").reshape(s))
        at += n
    return out


def run(name, rates, mult, **how):
    o = mx.optimizer.create(name, learning_rate=1, rescale_grad=1 / 8, **how)
    o.set_lr_mult({k: v[0] for k, v in mult.items()})
    o.set_wd_mult({k: v[1] for k, v in mult.items()})
    w = [mx.nd.array(x) for x in numbers(37, 0, 101, 64)]
    s = [o.create_state(i, x) for i, x in enumerate(w)]
    for t, rate in enumerate(rates):
        o.set_learning_rate(rate)
        for i, g in enumerate(numbers(53, 29 * t, 97, 32)):
            o.update(i, w[i], mx.nd.array(8 * g), s[i])
    return np.concatenate([x.asnumpy().flatten() for x in w])


# Its Adam and RMSProp add epsilon elsewhere and cut what is decayed already: the same as ours where both say nothing.
# rule, momentum, beta2, epsilon, decay, clip, mults; then MXNet's own words
M = {"momentum": 0.875}
D = {"wd": 0.125}
A = {"beta1": 0.875, "beta2": 0.96875, "epsilon": 1e-12}
R = {"gamma1": 0.96875, "epsilon": 1e-12}
C = {"clip_gradient": 0.5}
I = {"param_idx2name": NAMES}
CASES = [
    ("SGD", 0, 0, 0, 0, "", RATES, "sgd", {}, {}),
    ("SGD", 0.875, 0, 0, 0, "", RATES, "sgd", {}, {**M}),
    ("SGD", 0.875, 0, 0.125, 0, "", RATES, "sgd", {}, {**M, **D}),
    ("SGD", 0.875, 0, 0.125, 0.5, "", RATES, "sgd", {}, {**M, **D, **C}),
    ("SGD", 0.875, 0, 0.125, 0.5, RULES, RATES, "sgd", {}, {**M, **D, **C, **I}),
    ("SGD", 0.875, 0, 0.125, 0, RULES + ";wd:*_gamma=0", RATES, "sgd", {"bn_gamma": (1, 0)}, {**M, **D, **I}),
    ("SGD", 0.875, 0, 0.125, 0, RULES + ";lr:b_*=4;wd:b_weight=2", RATES, "sgd", {"b_weight": (4, 2), "b_bias": (4, 0)},
     {**M, **D, **I}),
    # Its NAG decays the momentum by the weights of after the update, and keeps the rate in it; ours is PyTorch's.
    ("NESTEROV", 0.875, 0, 0, 0, "", STEADY, "nag", {}, {**M}),
    ("NESTEROV", 0.875, 0, 0, 0.5, "", STEADY, "nag", {}, {**M, **C}),
    ("ADAM", 0.875, 0.96875, 0.125, 0, RULES, RATES, "adam", {}, {**A, **D, **I}),
    ("ADAM", 0.875, 0.96875, 0, 0.5, "", RATES, "adam", {}, {**A, **C}),
    ("RMSPROP", 0, 0.96875, 0.125, 0, RULES, RATES, "rmsprop", {}, {**R, **D, **I}),
    ("RMSPROP", 0, 0.96875, 0, 0.5, "", RATES, "rmsprop", {}, {**R, **C}),
]

print("/* rules_mxnet - weights after 4 steps by MXNet %s; made by rules_mxnet.py. */" % mx.__version__)
print("static const struct {\n\tenum opt_rule rule;\n\tfloat momentum, beta2, wd, clip;\n\tconst char *mults;\n\tfloat rate[4], w[99];\n} rules_mxnet[] = {")
for rule, momentum, beta2, wd, clip, mults, rates, name, mult, how in CASES:
    w = run(name, rates, mult, **how)
    print('\t{ OPT_%s, %g, %g, %g, %g, "%s", { %s }, {' % (rule, momentum, beta2, wd, clip, mults, ", ".join("%g" % r for r in rates)))
    for i in range(0, len(w), 8):
        print("\t    " + " ".join("%.9g," % x for x in w[i:i + 8]))
    print("\t} },")
print("};")
