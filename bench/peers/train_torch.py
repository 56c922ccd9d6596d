#!/usr/bin/env python3
"""The training step of bench/train.c in PyTorch: train_torch.py [--batch N] [--threads T] [--mode f32|f32cl|bf16cl]

Says "ready"; for each line "K" on stdin runs K steps and prints their milliseconds on one line.
cl = channels_last.  The net is share/nets/inception.lua, weights and batch are random.
"""
import argparse
import sys
import time

import torch
from torch import nn


class Cat(nn.Module):
    """Runs branches on the same input and joins them by channel."""
    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([b(x) for b in self.branches], 1)


def cbr(c, k, r, s=1, p=0):
    return nn.Sequential(nn.Conv2d(c, k, r, s, p), nn.BatchNorm2d(k), nn.ReLU(inplace=True))


def simple(c, a, b):
    return Cat(cbr(c, a, 1), cbr(c, b, 3, 1, 1))


def down(c, n):
    return Cat(cbr(c, n, 3, 2, 1), nn.MaxPool2d(3, 2, ceil_mode=True))


def inception():
    return nn.Sequential(
        cbr(3, 96, 3, 1, 1), simple(96, 32, 32), simple(64, 32, 48), down(80, 80),
        simple(160, 112, 48), simple(160, 96, 64), simple(160, 80, 80), simple(160, 48, 96), down(144, 96),
        simple(240, 176, 160), simple(336, 176, 160), nn.AvgPool2d(7), nn.Flatten(), nn.Linear(336, 10))


ap = argparse.ArgumentParser()
ap.add_argument("--batch", type=int, default=128)
ap.add_argument("--threads", type=int, default=2)
ap.add_argument("--mode", default="f32")
a = ap.parse_args()
torch.set_num_threads(a.threads)
torch.manual_seed(0)
net, x, y = inception(), torch.randn(a.batch, 3, 28, 28), torch.randint(0, 10, (a.batch,))
if a.mode.endswith("cl"):
    net, x = net.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, fused=True)
loss_of = nn.CrossEntropyLoss()


def step():
    opt.zero_grad(set_to_none=True)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=a.mode.startswith("bf16")):
        loss = loss_of(net(x), y)
    loss.backward()
    opt.step()


def timed():
    t = time.perf_counter()
    step()
    return (time.perf_counter() - t) * 1e3


step()
step()
print("ready", flush=True)
for line in sys.stdin:
    print(" ".join("%.2f" % timed() for _ in range(int(line))), flush=True)
