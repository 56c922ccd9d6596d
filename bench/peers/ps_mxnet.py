#!/usr/bin/env python3
"""The step of bench/ps.c with MXNet's parameter server (ps-lite, dist_sync), which sums and has no optimizer.

	ps_mxnet.py [--workers N] [--servers N] --bytes N[,N...]

Starts all processes itself.  Prints "ready" and the bytes; for each line "K" of standard input it runs K steps and prints
their milliseconds on one line.  A step writes, pushes, pulls and reads every array.
"""
import argparse
import os
import socket
import subprocess
import sys
import time

ap = argparse.ArgumentParser()
ap.add_argument("--workers", type=int, default=1)
ap.add_argument("--servers", type=int, default=1)
ap.add_argument("--bytes", default="4194304")
a = ap.parse_args()
sizes = [int(n) for n in a.bytes.split(",")]


def lead():
    with socket.socket() as k:
        k.bind(("127.0.0.1", 0))
        port = k.getsockname()[1]
    env = dict(os.environ, DMLC_PS_ROOT_URI="127.0.0.1", DMLC_PS_ROOT_PORT=str(port), DMLC_NODE_HOST="127.0.0.1",
               DMLC_NUM_WORKER=str(a.workers), DMLC_NUM_SERVER=str(a.servers), OMP_NUM_THREADS="1")
    roles = ["scheduler"] + ["server"] * a.servers + ["worker"] * a.workers
    kids = [subprocess.Popen([sys.executable] + sys.argv, env=dict(env, DMLC_ROLE=r), text=True,
                             stdin=subprocess.PIPE if r == "worker" else subprocess.DEVNULL,
                             stdout=subprocess.PIPE if r == "worker" else subprocess.DEVNULL) for r in roles]
    workers = kids[1 + a.servers:]
    try:
        for k in workers:
            k.stdout.readline()
        print("ready", sum(sizes), flush=True)
        for line in sys.stdin:
            for k in workers:
                k.stdin.write(line)
                k.stdin.flush()
            lines = [k.stdout.readline() for k in workers]
            print(lines[0], end="", flush=True)
    finally:
        for k in kids:
            k.kill()


def work():
    import mxnet as mx  # servers and the scheduler run and end in here
    kv = mx.kv.create("dist_sync")
    g = [mx.nd.zeros((n // 4,)) for n in sizes]
    w = [mx.nd.zeros((n // 4,)) for n in sizes]
    for i, x in enumerate(w):
        kv.init(i, x)
    print("ready", flush=True)
    for line in sys.stdin:
        times = []
        for step in range(int(line)):
            t = time.perf_counter()
            for i in reversed(range(len(sizes))):
                g[i][:] = step % 3 - 1
                kv.push(i, g[i], priority=-i)
            for i in range(len(sizes)):
                kv.pull(i, out=w[i], priority=-i)
            for x in w:
                x.sum().wait_to_read()
            times.append((time.perf_counter() - t) * 1e3)
        print(" ".join(f"{t:.4f}" for t in times), flush=True)


if "DMLC_ROLE" in os.environ:
    work()
else:
    lead()
