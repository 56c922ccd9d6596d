#!/usr/bin/env python3
"""Makes sched_torch.h: the rates of whole runs by torch.optim.lr_scheduler.  python3 sched_torch.py > sched_torch.h

Epochs have 7 steps.  What PyTorch's documents step after an epoch is stepped so here, all else after each batch.
"""
import warnings

import torch
from torch.optim import lr_scheduler as S

STEPS = 7

def one_cycle(anneal, div):
    # 21 of 70 steps up, from 0.4 / div
    return lambda o: S.OneCycleLR(o, 0.4, total_steps=70, pct_start=0.3, anneal_strategy=anneal, div_factor=div,
                                  final_div_factor=40 / div, cycle_momentum=False)


def warm(o, rest):
    # 14 steps up: the first has 1/14 of the rate, the last all of it
    return S.SequentialLR(o, [S.LinearLR(o, 1 / 14, 1, 13), rest], [14])


# text; the run's epochs; the steps that are compared; how many steps later ours has it; by epoch; the scheduler
CASES = [
    ("0.4,x0.1@3,x0.1@6,x0.1@9", 10, range(70), 0, True, lambda o: S.StepLR(o, 3, 0.1)),
    ("0.4,x0.2@2,x0.2@3,x0.2@7", 10, range(70), 0, True, lambda o: S.MultiStepLR(o, [2, 3, 7], 0.2)),
    ("0.4,poly:2@8", 10, range(70), 0, False, lambda o: S.PolynomialLR(o, 8 * STEPS, 2)),
    ("0.4,linear@8", 10, range(70), 0, False, lambda o: S.PolynomialLR(o, 8 * STEPS, 1)),
    ("0.4,linear:0.1@8", 10, range(70), 0, False, lambda o: S.LinearLR(o, 1, 0.25, 8 * STEPS)),
    ("0.4,cosine@10", 10, range(70), 0, False, lambda o: S.CosineAnnealingLR(o, 10 * STEPS)),
    ("0.4,cosine:0.05@10", 10, range(70), 0, False, lambda o: S.CosineAnnealingLR(o, 10 * STEPS, 0.05)),
    ("0.4,exp:0.9", 10, range(70), 0, True, lambda o: S.ExponentialLR(o, 0.9)),
    ("0.4,triangle:0.1@4", 12, range(84), 14, False, lambda o: S.CyclicLR(o, 0.1, 0.4, 14, mode="triangular", cycle_momentum=False)),
    ("warmup:2,0.4", 10, range(70), 0, False, lambda o: S.LinearLR(o, 1 / 14, 1, 13)),
    ("warmup:2,0.4,cosine@10", 10, range(70), 0, False, lambda o: warm(o, S.CosineAnnealingLR(o, 8 * STEPS))),
    ("warmup:2,0.4,poly:3@10", 10, range(70), 0, False, lambda o: warm(o, S.PolynomialLR(o, 8 * STEPS, 3))),
    ("warmup:2,0.4,x0.1@5", 10, range(70), 0, False, lambda o: warm(o, S.MultiStepLR(o, [3 * STEPS], 0.1))),
    # up from 0.4 / 21, and from 0.4 / 10, in 21 steps, the last of which has 0.4
    ("warmup:3,0.4,linear:0.01@10", 10, range(21), 0, False, one_cycle("linear", 21)),
    ("warmup:3:0.022,0.4,linear:0.01@10", 10, range(21), 0, False, one_cycle("linear", 10)),
    ("warmup:3,0.4,linear:0.01@10", 10, range(20, 70), 1, False, one_cycle("linear", 21)),
    ("warmup:3,0.4,cosine:0.01@10", 10, range(20, 70), 1, False, one_cycle("cos", 21)),
]


def rates(make, epochs, by_epoch):
    o = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.4)
    s = make(o)
    out = []
    for i in range(epochs * STEPS):
        out.append(o.param_groups[0]["lr"])
        o.step()
        if i + 1 < epochs * STEPS and (not by_epoch or (i + 1) % STEPS == 0):
            s.step()
    return out


warnings.simplefilter("ignore")
print("/* sched_torch - rates of whole runs by PyTorch %s; made by sched_torch.py. */" % torch.__version__.split("+")[0])
print("static const struct {\n\tconst char *text;\n\tuint32_t first, end, later;\n\tdouble rate[84];\n} sched_torch[] = {")
for text, epochs, seen, later, by_epoch, make in CASES:
    v = rates(make, epochs, by_epoch)
    print('\t{ "%s", %d, %d, %d, {' % (text, seen.start, seen.stop, later))
    for i in range(0, len(v), 7):
        print("\t    " + " ".join("%.12g," % x for x in v[i:i + 7]))
    print("\t} },")
print("};")
