#!/usr/bin/env python3
"""Makes sched_mxnet.h: the rates of whole runs by MXNet's lr_scheduler.  python3 sched_mxnet.py > sched_mxnet.h

A run has 10 epochs of 7 updates, numbered from 1 as MXNet's optimizers number them.
"""
import logging

import mxnet as mx
from mxnet import lr_scheduler as S

STEPS = 7
WARM = {"warmup_steps": 14}
BEGIN = {"warmup_steps": 14, "warmup_begin_lr": 0.1}

# text; whether a curve of ours is one update behind; the scheduler
CASES = [
    ("0.4,x0.5@2,x0.5@4,x0.5@6,x0.5@8", 0, S.FactorScheduler(2 * STEPS, 0.5, base_lr=0.4)),
    ("warmup:2,0.4,x0.5@3,x0.5@6,x0.5@9", 0, S.FactorScheduler(3 * STEPS, 0.5, base_lr=0.4, **WARM)),
    ("0.4,x0.1@3,x0.1@8", 0, S.MultiFactorScheduler([3 * STEPS, 8 * STEPS], 0.1, base_lr=0.4)),
    ("warmup:2:0.1,0.4,x0.1@3,x0.1@8", 0, S.MultiFactorScheduler([3 * STEPS, 8 * STEPS], 0.1, base_lr=0.4, **BEGIN)),
    ("0.4,poly:2@8", 1, S.PolyScheduler(8 * STEPS, 0.4, 2)),
    ("0.4,poly:3:0.05@8", 1, S.PolyScheduler(8 * STEPS, 0.4, 3, 0.05)),
    ("0.4,cosine@10", 1, S.CosineScheduler(10 * STEPS, 0.4)),
    ("0.4,cosine:0.05@8", 1, S.CosineScheduler(8 * STEPS, 0.4, 0.05)),
    ("warmup:2,0.4,poly:2:0.05@9", 1, S.PolyScheduler(9 * STEPS, 0.4, 2, 0.05, **WARM)),
    ("warmup:2:0.1,0.4,cosine@9", 1, S.CosineScheduler(9 * STEPS, 0.4, **BEGIN)),
]

logging.disable(logging.INFO)
print("/* sched_mxnet - rates of whole runs by MXNet %s; made by sched_mxnet.py. */" % mx.__version__)
print("static const struct {\n\tconst char *text;\n\tuint32_t warm, later;\n\tdouble rate[70];\n} sched_mxnet[] = {")
for text, later, s in CASES:
    v = [s(i + 1) for i in range(10 * STEPS)]
    print('\t{ "%s", %d, %d, {' % (text, s.warmup_steps, later))
    for i in range(0, len(v), 7):
        print("\t    " + " ".join("%.12g," % x for x in v[i:i + 7]))
    print("\t} },")
print("};")
