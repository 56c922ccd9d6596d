#!/usr/bin/env python3
"""Makes rules_torch.h: update rules with clipped gradients, an L1 of the loss and rates that change, by PyTorch in f64.

python3 rules.py > rules_torch.h
"""
import torch
from torch import optim as O

# The arrays of the net of rules_test.c: a layer, batch norm, the classifier.
SHAPES = [(8, 6), (8,), (8,), (8,), (3, 8), (3,)]
RATES = [0.0625, 0.0625, 0.015625, 0.03125]
STEADY = [0.0625] * 4


def numbers(mul, add, mod, div):
    at, out = 0, []
    for s in SHAPES:
        n = torch.Size(s).numel()
        out.append(torch.tensor([((i * mul + add) % mod - mod // 2) / div for i in range(at, at + n)], dtype=torch.float64).reshape(s))
        at += n
    return out


def run(make, rates, clip, l1):
    ps = [p.requires_grad_() for p in numbers(37, 0, 101, 64)]
    o = make(ps)
    for t, rate in enumerate(rates):
        o.zero_grad()
        # A loss whose gradient is the wanted one, cut as a loop with an L1 in its loss would: behind the whole of it, or before.
        sum((p * g).sum() for p, g in zip(ps, numbers(53, 29 * t, 97, 32))).backward()
        if clip > 0:
            torch.nn.utils.clip_grad_value_(ps, clip)
        (l1 * sum(p.abs().sum() for p in ps)).backward()
        for group in o.param_groups:
            group["lr"] = rate
        o.step()
    return torch.cat([p.detach().flatten() for p in ps]).tolist()


def sgd(p):
    return O.SGD(p, lr=1, momentum=0.875, weight_decay=0.125)


def plain(p):
    return O.SGD(p, lr=1)


def decayed(p):
    return O.SGD(p, lr=1, weight_decay=0.125)


def nesterov(p):
    return O.SGD(p, lr=1, momentum=0.875, weight_decay=0.125, nesterov=True)


def adam(p):
    return O.Adam(p, lr=1, betas=(0.875, 0.96875), eps=2**-10, weight_decay=0.125)


def adamw(p):
    return O.AdamW(p, lr=1, betas=(0.875, 0.96875), eps=2**-10, weight_decay=0.125)


def rmsprop(p):
    return O.RMSprop(p, lr=1, alpha=0.96875, eps=2**-10, weight_decay=0.125, momentum=0.875)


# sgd's momentum holds the rates it was summed at, as MXNet's, where PyTorch's does not: a rate that changes is for the others
CASES = [("SGD", 0, 0, plain, RATES), ("DESCENT", 0, 0.125, decayed, RATES), ("SGD", 0.875, 0.125, sgd, STEADY), ("NESTEROV", 0.875, 0.125, nesterov, RATES),
         ("ADAM", 0.875, 0.125, adam, RATES), ("ADAMW", 0.875, 0.125, adamw, RATES), ("RMSPROP", 0.875, 0.125, rmsprop, RATES)]

print("/* rules_torch - weights after 4 steps by PyTorch %s; made by rules.py. */" % torch.__version__.split("+")[0])
print("static const struct {\n\tenum opt_rule rule;\n\tfloat momentum, wd, clip, l1, rate[4], w[99];\n} rules_torch[] = {")
for rule, momentum, wd, make, rates in CASES:
    for clip, l1 in (0, 0), (0.5, 0), (0, 0.25), (0.5, 0.25):
        w = run(make, rates, clip, l1)
        print("\t{ OPT_%s, %g, %g, %g, %g, { %s }, {" % (rule, momentum, wd, clip, l1, ", ".join("%g" % r for r in rates)))
        for i in range(0, len(w), 8):
            print("\t    " + " ".join("%.9g," % x for x in w[i:i + 8]))
        print("\t} },")
print("};")
