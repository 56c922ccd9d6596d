#!/usr/bin/env python3
"""The step of bench/ps.c as PyTorch's all-reduce over gloo, among processes of this machine, without servers.

	ps_gloo.py [--workers N] --bytes N[,N...]

Prints "ready" and the bytes; for each line "K" of standard input it runs K steps and prints their milliseconds on one
line.  A step writes, reduces and reads every array.  With two processes each moves as much as a push and a pull.
"""
import argparse
import os
import socket
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank, workers, sizes, port, turns, times):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=workers)
    x = [torch.zeros(n // 4) for n in sizes]
    times.put([])
    while True:
        k = turns[rank].get()
        all_ms = []
        for step in range(k):
            t = time.perf_counter()
            open_ = []
            for y in reversed(x):
                y.fill_(step % 3 - 1)
                open_.append(dist.all_reduce(y, async_op=True))
            for o in open_:
                o.wait()
            for y in x:
                y.sum()
            all_ms.append((time.perf_counter() - t) * 1e3)
        times.put(all_ms)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--workers", type=int, default=2)
    ap.add_argument("--servers", type=int)
    ap.add_argument("--bytes", default="4194304")
    a = ap.parse_args()
    n = max(a.workers, 2)
    sizes = [int(b) for b in a.bytes.split(",")]
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    context = mp.get_context("spawn")
    turns, times = [context.Queue() for _ in range(n)], context.Queue()
    kids = mp.spawn(work, (n, sizes, port, turns, times), nprocs=n, join=False)
    for _ in range(n):
        times.get()
    print("ready", sum(sizes), flush=True)
    for line in sys.stdin:
        for q in turns:
            q.put(int(line))
        all_ms = [times.get() for _ in range(n)]
        print(" ".join(f"{t:.4f}" for t in all_ms[0]), flush=True)
    for k in kids.processes:
        k.kill()
    os._exit(0)
