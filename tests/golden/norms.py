#!/usr/bin/env python3
"""Makes norms_torch.h: updates that need norms or whole matrices, by PyTorch in f64.  python3 norms.py > norms_torch.h"""
import torch

# a, m and b are layers with biases, as (out, in): the net of norms_test.c.
SHAPES = [(8, 6), (8,), (4, 8), (4,), (3, 4), (3,)]
STEPS = 4


def numbers(mul, add, mod, div):
    """Whole numbers over a power of two, so that f32 has them too."""
    at, out = 0, []
    for s in SHAPES:
        n = torch.Size(s).numel()
        out.append(torch.tensor([((i * mul + add) % mod - mod // 2) / div for i in range(at, at + n)], dtype=torch.float64).reshape(s))
        at += n
    return out


def orthogonal(u, turns, eps=1e-7):
    """Newton-Schulz as published: coefficients that are steepest at 0."""
    x = u / (u.norm() + eps)
    if u.size(0) > u.size(1):
        x = x.T
    for _ in range(turns):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.T if u.size(0) > u.size(1) else x


class Muon(torch.optim.Optimizer):
    """Momentum summed as in airbench94_muon.py; decay and scale as in torch.optim.Muon."""

    def __init__(self, params, **o):
        super().__init__(params, o)

    @torch.no_grad()
    def step(self):
        for o in self.param_groups:
            for p in o["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                m.mul_(o["momentum"]).add_(p.grad)
                x = orthogonal(p.grad + o["momentum"] * m, o["turns"])
                if o["unit"]:
                    p.mul_(len(p) ** 0.5 / p.norm())
                p.mul_(1 - o["lr"] * o["wd"]).sub_(o["lr"] * max(1, p.size(0) / p.size(1)) ** 0.5 * x)


def run(make, clip):
    ps = [p.requires_grad_() for p in numbers(37, 0, 101, 64)]
    os = make(ps)
    for t in range(STEPS):
        for p, g in zip(ps, numbers(53, 29 * t, 97, 32)):
            p.grad = g
        if clip > 0:
            torch.nn.utils.clip_grad_norm_(ps, clip)
        for o in os:
            o.step()
    return torch.cat([p.detach().flatten() for p in ps])


def sgd(p, momentum, nesterov=True):
    return torch.optim.SGD(p, lr=0.05, momentum=momentum, weight_decay=0.01, nesterov=nesterov)


def muon(turns, unit):
    return lambda p: [Muon([p[0], p[2]], lr=0.05, momentum=0.6, wd=0.01, turns=turns, unit=unit),
                      sgd([p[1], p[3], p[4], p[5]], 0.85)]


CASES = [
    ("OPT_SGD", 0.9, 0, 0, 3, 0, 0, lambda p: [sgd(p, 0.9, False)]),
    ("OPT_SGD", 0.9, 0, 0, 1000, 0, 0, lambda p: [sgd(p, 0.9, False)]),
    ("OPT_ADAMW", 0.8, 0.95, 1e-3, 0.5, 0, 0, lambda p: [torch.optim.AdamW(p, lr=0.05, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.01)]),
    ("OPT_MUON", 0.6, 0.85, 1e-7, 0, 5, 0, muon(5, False)),
    ("OPT_MUON", 0.6, 0.85, 1e-7, 0, 3, 1, muon(3, True)),
    ("OPT_MUON", 0.6, 0.85, 1e-7, 3, 5, 0, muon(5, False)),
]


def theirs():
    """How far torch.optim.Muon, which turns in bf16, is from the formula above for the first matrix, to be sure of it."""
    ps = [numbers(37, 0, 101, 64)[0].requires_grad_() for _ in range(2)]
    os = [Muon([ps[0]], lr=0.05, momentum=0.6, wd=0.01, turns=5, unit=False),
          torch.optim.Muon([ps[1]], lr=0.05, momentum=0.6, weight_decay=0.01)]
    for t in range(STEPS):
        for p, o in zip(ps, os):
            p.grad = numbers(53, 29 * t, 97, 32)[0]
            o.step()
    return ((ps[0] - ps[1]).norm() / (ps[0] - numbers(37, 0, 101, 64)[0]).norm()).item()


def averages(kind):
    """Weights and their average: by torch.optim.swa_utils, or lookahead by its paper's algorithm 1."""
    model = torch.nn.ParameterList(numbers(37, 0, 101, 64))
    o = sgd(model.parameters(), 0.9, False)
    slow = [p.detach().clone() for p in model]
    if kind == "EMA":
        mean = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.75))
    else:
        mean = torch.optim.swa_utils.AveragedModel(model)
    for t in range(STEPS):
        for p, g in zip(model, numbers(53, 29 * t, 97, 32)):
            p.grad = g
        o.step()
        if kind == "EMA" or (kind == "SWA" and t % 2 == 1):
            mean.update_parameters(model)
        if kind == "LOOKAHEAD" and (t + 1) % 3 == 0:
            for p, s in zip(model, slow):
                s += 0.75 * (p.detach() - s)
                p.data.copy_(s)
    of = slow if kind == "LOOKAHEAD" else list(mean.module)
    return [torch.cat([p.detach().flatten() for p in ps]).tolist() for ps in (list(model), of)]


def floats(w):
    for i in range(0, len(w), 8):
        print("\t    " + " ".join("%.9g," % x for x in w[i:i + 8]))


print("/* norms_torch - weights after %d steps, by PyTorch %s; made by norms.py. */" % (STEPS, torch.__version__.split("+")[0]))
print("/* torch.optim.Muon, in bf16, comes within %.3f of the formula's way. */" % theirs())
print("static const struct {\n\tenum opt_rule rule;\n\tfloat momentum, beta2, eps, clip_norm;\n\tuint32_t turns;\n\tbool unit;\n\tfloat w[107];\n} torch_norms[] = {")
for rule, momentum, beta2, eps, clip, turns, unit, make in CASES:
    w = run(make, clip).tolist()
    print("\t{ %s, %g, %g, %g, %g, %d, %s, {" % (rule, momentum, beta2, eps, clip, turns, "true" if unit else "false"))
    floats(w)
    print("\t} },")
print("};")
print("static const struct {\n\tenum average_kind kind;\n\tfloat w[107], average[107];\n} torch_averages[] = {")
for kind in "EMA", "SWA", "LOOKAHEAD":
    w, a = averages(kind)
    print("\t{ AVERAGE_%s, {" % kind)
    floats(w)
    print("\t}, {")
    floats(a)
    print("\t} },")
print("};")
