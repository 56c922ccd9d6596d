#!/usr/bin/env python3
"""Makes opt_torch.h: what PyTorch's optimizers do to four weights in five steps.  python3 opt.py > opt_torch.h"""
import torch

W = [0.5, -1.25, 2.0, 0.0]
G = [[0.3, -0.7, 0.01, 1.0], [-0.2, 0.9, 0.02, 1.0], [0.1, 0.4, 0.04, 1.0], [0.0, -0.6, 0.08, 1.0], [2.0, 0.05, 0.16, 1.0]]
RULES = [
    ("OPT_NESTEROV", "0.05f", "0.9f", "0.01f", "0, 0", lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01, nesterov=True)),
    ("OPT_ADAM", "0.05f", "0.8f", "0.01f", "0.95f, 1e-3f", lambda p: torch.optim.Adam(p, lr=0.05, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.01)),
    ("OPT_ADAMW", "0.05f", "0.8f", "0.1f", "0.95f, 1e-3f", lambda p: torch.optim.AdamW(p, lr=0.05, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1)),
    ("OPT_RMSPROP", "0.05f", "0", "0.01f", "0.9f, 1e-3f", lambda p: torch.optim.RMSprop(p, lr=0.05, alpha=0.9, eps=1e-3, weight_decay=0.01)),
    ("OPT_RMSPROP", "0.05f", "0.5f", "0.01f", "0.9f, 1e-3f", lambda p: torch.optim.RMSprop(p, lr=0.05, alpha=0.9, eps=1e-3, weight_decay=0.01, momentum=0.5)),
]

print("/* opt_torch - what PyTorch %s does to four weights in five steps; made by opt.py. */" % torch.__version__.split("+")[0])
print("static const float torch_w[4] = { %s };" % ", ".join("%.9g" % w for w in W))
print("static const float torch_g[5][4] = {")
for g in G:
    print("\t{ %s }," % ", ".join("%.9g" % x for x in g))
print("};")
print("static const struct { enum opt_rule rule; float lr, momentum, wd, beta2, eps; float w[4]; } torch_rule[] = {")
for rule, lr, momentum, wd, rest, make in RULES:
    p = torch.tensor(W, dtype=torch.float64, requires_grad=True)
    o = make([p])
    for g in G:
        p.grad = torch.tensor(g, dtype=torch.float64)
        o.step()
    print("\t{ %s, %s, %s, %s, %s, { %s } }," % (rule, lr, momentum, wd, rest, ", ".join("%.9gf" % x if "." in "%.9g" % x else "%.9g" % x for x in p.tolist())))
print("};")
