#!/usr/bin/env python3
"""The training step of bench/train.c in PyTorch, with its options: train_torch.py [--net NAME] [--mode MODE] ...

With --pass evaluate a step is a forward pass in evaluation mode.
Modes: eager, cl (eager, channels last) and compiled (torch.compile, channels last); bf16 is autocast's.
Says "ready" and the version; for each line "K" on stdin runs K steps and prints their milliseconds on one line.
On a GPU the line is the mean of the K steps, from an idle GPU to an idle GPU, as bench/gpu_step.c measures.
Weights and batch are random.
"""
import argparse
import os
import sys
import time

import torch
from torch import nn

import nets_torch

ap = argparse.ArgumentParser()
ap.add_argument("--net", default="inception")
ap.add_argument("--net-opt", action="append", default=[])
ap.add_argument("--shape")
ap.add_argument("--classes", type=int)
ap.add_argument("--batch", type=int, default=128)
ap.add_argument("--threads", type=int, default=2)
ap.add_argument("--dtype", default="f32", choices=("f32", "bf16"))
ap.add_argument("--mode", default="eager", choices=("eager", "cl", "compiled"))
ap.add_argument("--pass", dest="what", default="train", choices=("train", "evaluate"))
ap.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
ap.add_argument("--freeze-first", action="store_true")
a = ap.parse_args()
torch.set_num_threads(a.threads)
torch.manual_seed(0)
net, shape, classes = nets_torch.make(a.net, dict(o.split("=", 1) for o in a.net_opt),
                                      a.shape and tuple(int(n) for n in a.shape.split("x")), a.classes)
x, y = torch.randn(a.batch, *shape, device=a.device), torch.randint(0, classes, (a.batch,), device=a.device)
net = net.to(a.device)
if a.freeze_first:
    next(m for m in net.modules() if isinstance(m, nn.Conv2d)).requires_grad_(False)
if a.mode != "eager":
    net, x = net.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.01, momentum=0.9, weight_decay=1e-4, fused=True)
loss_of = nn.CrossEntropyLoss(label_smoothing=0.2 if a.net == "fast" else 0)
if a.mode == "compiled":
    if os.environ.get("ATEN_CPU_CAPABILITY") == "avx2":
        import torch._inductor.config
        torch._inductor.config.cpp.simdlen = 256
    net = torch.compile(net)


@torch.inference_mode()
def evaluate():
    with torch.autocast(a.device, dtype=torch.bfloat16, enabled=a.dtype == "bf16"):
        net(x).argmax(1).eq(y).sum().item()


def train():
    opt.zero_grad(set_to_none=True)
    with torch.autocast(a.device, dtype=torch.bfloat16, enabled=a.dtype == "bf16"):
        loss = loss_of(net(x), y)
    loss.backward()
    opt.step()


net.train(a.what == "train")
step = train if a.what == "train" else evaluate


def timed(steps):
    """Milliseconds of a step."""
    t = time.perf_counter()
    for _ in range(steps):
        step()
    if a.device == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - t) * 1e3 / steps


timed(3 if a.device == "cuda" else 2)
print("ready", torch.__version__, flush=True)
for line in sys.stdin:
    k = int(line)
    print("%.3f" % timed(k) if a.device == "cuda" else " ".join("%.2f" % timed(1) for _ in range(k)), flush=True)
