#!/usr/bin/env python3
"""One process of a data-parallel step in PyTorch, for bench/codec.sh and bench/alone.sh.

    codec_ddp.py RANK WORLD ADDRESS HOOK NET BATCH STEPS [SIDE]

HOOK is alone (no network), none, fp16 or powersgd: DDP over gloo with the hook of that name.  Prints the median
milliseconds of a step; the first four are not counted, in which PowerSGD begins.  Images are random,
and of SIDE x SIDE (32) pixels.
"""
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

import nets_torch

WARM = 4
rank, world, address, hook, name, batch, steps = sys.argv[1:8]
rank, world, batch, steps = int(rank), int(world), int(batch), int(steps)
side = int(sys.argv[8]) if len(sys.argv) > 8 else 32
torch.set_num_threads(1)
torch.manual_seed(0)
net, shape, classes = nets_torch.make(name, {}, (3, side, side), 10)
net = net.to(memory_format=torch.channels_last)
x = torch.randn(batch, *shape).to(memory_format=torch.channels_last)
y = torch.randint(0, classes, (batch,))
if hook != "alone":
    host, port = address.rsplit(":", 1)
    os.environ.update(MASTER_ADDR=host, MASTER_PORT=port)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    # With several buckets gloo may exchange those of PowerSGD in another order on each process, and fails.
    net = nn.parallel.DistributedDataParallel(net, bucket_cap_mb=4096 if hook == "powersgd" else None)
    if hook == "fp16":
        net.register_comm_hook(None, default_hooks.fp16_compress_hook)
    elif hook == "powersgd":
        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2)
        net.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, fused=True)
loss_of = nn.CrossEntropyLoss()
times = []
for _ in range(WARM + steps):
    begun = time.perf_counter()
    opt.zero_grad(set_to_none=True)
    loss_of(net(x), y).backward()
    opt.step()
    times.append((time.perf_counter() - begun) * 1e3)
print(f"{statistics.median(times[WARM:]):.1f}", flush=True)
