#!/usr/bin/env python3
"""Makes run_torch.h: whole runs by PyTorch in f64, as loops over its own modules.  python3 run.py > run_torch.h

Grey pictures of 4x4 -> conv 3x3 -> batch norm -> relu -> max pool 2x2 -> fc -> softmax, 24 to train on, in their order, and 10
to validate on after each epoch.
"""
import math
import textwrap

import torch
from torch.nn import functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn, update_bn

BATCH, TRAIN, VAL, CLASSES, SIDE, EPS = 4, 24, 10, 7, 4, 1 / 1024
torch.set_default_dtype(torch.float64)


def pixels(i):
    y, x = torch.arange(SIDE)[:, None], torch.arange(SIDE)[None, :]
    return (i * 71 + y * 37 + x * 59 + y * x * 13 + (i % 7) * (y == i % 4) * 60) % 256


def pictures(first, n, step):
    x = torch.stack([pixels(first + i) for i in range(n)])[:, None] / 128
    return x, torch.tensor([i * step % CLASSES for i in range(n)])


class Norm(torch.nn.BatchNorm2d):
    """Running statistics of a step: the mean over its batches, of biased variances, folded in once."""

    def forward(self, x):
        if not self.training:
            return super().forward(x)
        self.seen = getattr(self, "seen", [])
        self.seen.append((x.mean((0, 2, 3)).detach(), x.var((0, 2, 3), unbiased=False).detach()))
        return F.batch_norm(x, None, None, self.weight, self.bias, True, 0, self.eps)

    def fold(self):
        for r, s in (self.running_mean, 0), (self.running_var, 1):
            r.lerp_(torch.stack([b[s] for b in self.seen]).mean(0), self.momentum)
        self.seen = []


def net(norm, fc):
    m = torch.nn.Sequential(torch.nn.Conv2d(1, 3, 3, padding=1), norm(3, eps=EPS, momentum=0.1), torch.nn.ReLU(),
                            torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(12, CLASSES))
    at = 0
    with torch.no_grad():
        for name, p in m.named_parameters():
            v = torch.tensor([((i * 37) % 101 - 50) / 256 for i in range(at, at + p.numel())]).reshape(p.shape)
            p.copy_(v * (fc if name.startswith("5") else 1) + (1 if name == "1.weight" else 0))
            at += p.numel()
    return m


def right(out, y, k):
    """How many are among the first k; of equals the lower class counts, which torch.topk leaves open."""
    order = out.sort(dim=1, descending=True, stable=True).indices[:, :k]
    return (order == y[:, None]).any(1).sum().item()


def views(m, x, flip, shift):
    """Probabilities: the mean of softmax over a picture's places and their mirror images."""
    padded = F.pad(x, [shift] * 4, mode="reflect") if shift else x
    at = [(shift, shift)] + ([(0, 0), (0, 2 * shift), (2 * shift, 0), (2 * shift, 2 * shift)] if shift else [])
    all = [padded[:, :, i:i + SIDE, j:j + SIDE] for i, j in at]
    all += [v.flip(3) for v in all] if flip else []
    return torch.stack([F.softmax(m(v), 1) for v in all]).mean(0)


def theirs_is(m, o):
    """PyTorch's own batch norm: the same weights and means, and variances of n - 1, which is 63 for n 64."""
    p, x, y = net(torch.nn.BatchNorm2d, 1), *pictures(0, TRAIN, 3)
    q = torch.optim.SGD(p.parameters(), **o)
    for s in range(12):
        at = s % 6 * BATCH
        q.zero_grad()
        F.cross_entropy(p(x[at:at + BATCH]), y[at:at + BATCH]).backward()
        q.step()
    keep = 0.9 ** 12
    assert all(torch.allclose(a, b) for a, b in zip(m.parameters(), p.parameters()))
    assert torch.allclose(m[1].running_mean, p[1].running_mean)
    assert torch.allclose(m[1].running_var - keep, (p[1].running_var - keep) * 63 / 64)


def run(optimizer=torch.optim.SGD, o={"lr": 0.0625, "momentum": 0.875, "weight_decay": 2**-7}, accumulate=1, epochs=2, smooth=0,
        clip_norm=0, average=None, flip=False, shift=0, fc=1, rate=None, patience=0):
    m, (x, y), (vx, vy) = net(Norm, fc), pictures(0, TRAIN, 3), pictures(100, VAL, 5)
    p = list(m.parameters())
    opt = optimizer(p, **o)
    slow = [w.detach().clone() for w in p]
    mean = None
    if average and average[0] == "EMA":
        mean = AveragedModel(m, multi_avg_fn=get_ema_multi_avg_fn(average[1]), use_buffers=True)
    elif average and average[0] == "SWA":
        mean = AveragedModel(m, use_buffers=True)
    r = {"step": [], "train": [], "val": []}
    steps = TRAIN // BATCH // accumulate
    best, wait, r["best"] = -1, 0, 0
    for epoch in range(epochs):
        seen = torch.zeros(3)
        for s in range(steps):
            m.train()
            opt.zero_grad()
            loss = 0
            for k in range(accumulate):
                at = (s * accumulate + k) * BATCH
                out = m(x[at:at + BATCH])
                one = F.cross_entropy(out, y[at:at + BATCH], label_smoothing=smooth) / accumulate
                one.backward()
                loss += one.item()
                seen += torch.tensor([one.item() * accumulate * BATCH, right(out, y[at:at + BATCH], 1), right(out, y[at:at + BATCH], 5)])
            if clip_norm > 0:
                torch.nn.utils.clip_grad_norm_(p, clip_norm)
            for g in opt.param_groups:
                g["lr"] = rate(epoch * steps + s) if rate else g["lr"]
            opt.step()
            m[1].fold()
            r["step"].append(loss)
            t = epoch * steps + s + 1
            if average and (average[0] == "EMA" or (average[0] == "SWA" and t % steps == 0 and epoch >= average[1])):
                mean.update_parameters(m)
            if average and average[0] == "LOOKAHEAD" and t % average[1] == 0:
                for a, w in zip(slow, p):
                    a += average[2] * (w.detach() - a)
                    w.data.copy_(a)
        judged = mean.module if mean is not None and mean.n_averaged > 0 else m
        judged.eval()
        kept = [w.detach().clone() for w in p]
        if average and average[0] == "LOOKAHEAD":
            for a, w in zip(slow, p):
                w.data.copy_(a)
        with torch.no_grad():
            prob = views(judged, vx, flip, shift)
        r["train"].append((seen / TRAIN).tolist())
        r["val"].append([F.nll_loss(prob.log(), vy).item(), right(prob, vy, 1) / VAL, right(prob, vy, 5) / VAL])
        flat = [w.detach().flatten() for w in judged.parameters()] + [judged[1].running_mean, judged[1].running_var]
        r["mean"] = torch.cat(flat).tolist() if average else []
        for a, w in zip(kept, p):
            w.data.copy_(a)
        wait = 0 if r["val"][-1][1] > best else wait + 1
        if wait == 0:
            best, r["best"] = r["val"][-1][1], epoch + 1
        if patience and wait >= patience:
            break
    r["w"] = torch.cat([w.detach().flatten() for w in p]).tolist()
    r["aux"] = torch.cat([m[1].running_mean, m[1].running_var]).tolist()
    if (optimizer, accumulate, smooth, fc, average, rate, epochs) == (torch.optim.SGD, 1, 0, 1, None, None, 2):
        theirs_is(m, o)
    if average and average[0] == "SWA":
        # update_bn() takes the mean over batches of variances around each batch's own mean; the law of total variance adds
        # how those means vary.
        mean = mean.module.apply(lambda l: setattr(l, "__class__", torch.nn.BatchNorm2d) if isinstance(l, Norm) else None)
        update_bn([x[i:i + BATCH] for i in range(0, TRAIN, BATCH)], mean)
        seen = mean[0](x).detach()
        assert torch.allclose(mean[1].running_mean, seen.mean((0, 2, 3)))
        within = torch.stack([seen[i:i + BATCH].var((0, 2, 3)) for i in range(0, TRAIN, BATCH)]).mean(0)
        assert torch.allclose(mean[1].running_var, within)
        r["stats"] = torch.cat([mean[1].running_mean, seen.var((0, 2, 3), unbiased=False)]).tolist()
    return r


def floats(name, v):
    if v:
        print("\t  .%s = {" % name)
        for i in range(0, len(v), 11):
            print("\t\t" + " ".join("%.6g," % x for x in v[i:i + 11]))
        print("\t  },")


def warm(s):
    """warmup:1,0.125,cosine:0.015625@4 with 3 steps an epoch"""
    p = min(max((s - 3) / 9, 0), 1)
    return 0.125 * (s + 1) / 3 if s < 2 else 0.015625 + (0.125 - 0.015625) * (1 + math.cos(math.pi * p)) / 2


ADAMW = {"lr": 0.0625, "betas": (0.875, 0.96875), "eps": 2**-10, "weight_decay": 2**-4}
NESTEROV = {"lr": 0.0625, "momentum": 0.875, "weight_decay": 2**-7, "nesterov": True}
SGD = '.rule = OPT_SGD, .momentum = 0.875f, .wd = 0x1p-7f, .lr = "0.0625"'
TINY = {"lr": 2**-14, "momentum": 0.875, "weight_decay": 2**-7}


def lost():
    """How much of the way is lost, in relative L2, where PyTorch keeps weights and momentum in bf16 and nothing in f32."""
    m, f, (x, y) = net(torch.nn.BatchNorm2d, 1), net(torch.nn.BatchNorm2d, 1), pictures(0, TRAIN, 3)
    m.bfloat16()
    start = [w.detach().clone() for w in f.parameters()]
    for net_, x_ in (m, x.bfloat16()), (f, x):
        opt = torch.optim.SGD(net_.parameters(), **TINY)
        for s in range(12):
            at = s % 6 * BATCH
            opt.zero_grad()
            F.cross_entropy(net_(x_[at:at + BATCH]), y[at:at + BATCH]).backward()
            opt.step()
    way = torch.cat([(w - s).flatten() for w, s in zip(f.parameters(), start)]).detach()
    theirs = torch.cat([(w.double() - s.bfloat16().double()).flatten() for w, s in zip(m.parameters(), start)]).detach()
    return ((theirs - way).norm() / way.norm()).item()


CASES = [
    ("plain", SGD, {}),
    ("accumulate 3", SGD + ", .accumulate = 3", {"accumulate": 3}),
    ("smooth labels", SGD + ", .smooth = 0.25f", {"smooth": 0.25}),
    ("equal scores", '.rule = OPT_SGD, .lr = "0", .epochs = 1, .nofc = true', {"o": {"lr": 0.0}, "fc": 0, "epochs": 1}),
    ("ema", SGD + ", .average = { AVERAGE_EMA, 0.75f, 0 }", {"average": ("EMA", 0.75)}),
    ("swa", SGD + ", .average = { AVERAGE_SWA, 0, 0 }, .swa = 1, .epochs = 4", {"average": ("SWA", 1), "epochs": 4}),
    ("lookahead", SGD + ", .average = { AVERAGE_LOOKAHEAD, 0.5f, 4 }", {"average": ("LOOKAHEAD", 4, 0.5)}),
    ("flip", SGD + ", .flip = true", {"flip": True}),
    ("shift", SGD + ", .shift = 1", {"shift": 1}),
    ("flip and shift", SGD + ", .flip = true, .shift = 1", {"flip": True, "shift": 1}),
    ("a schedule, and patience", '.rule = OPT_NESTEROV, .momentum = 0.875f, .wd = 0x1p-7f, .accumulate = 2, .epochs = 20, '
     '.patience = 3, .lr = "warmup:1,0.125,cosine:0.015625@4"',
     {"o": NESTEROV, "accumulate": 2, "epochs": 20, "patience": 3, "rate": warm}),
    ("adamw, clipped", '.rule = OPT_ADAMW, .momentum = 0.875f, .beta2 = 0.96875f, .eps = 0x1p-10f, .wd = 0x1p-4f, .lr = "0.0625", '
     '.clip_norm = 0.5f', {"optimizer": torch.optim.AdamW, "o": ADAMW, "clip_norm": 0.5}),
    ("a tiny rate", '.rule = OPT_SGD, .momentum = 0.875f, .wd = 0x1p-7f, .lr = "6.103515625e-05", .way = true', {"o": TINY}),
]

print("/* run_torch - whole runs by PyTorch %s; made by run.py. */" % torch.__version__.split("+")[0])
print("#define RUN_LOST\t%.4f\t/* of the way at a tiny rate, all in bf16 */" % lost())
print("static const struct run_case run_cases[] = {")
for name, words, how in CASES:
    r = run(**how)
    n = len(r["val"])
    print('\t{ .name = "%s",' % name)
    for line in textwrap.wrap(words, 96, break_long_words=False, break_on_hyphens=False):
        print("\t  " + line + ("," if line.endswith(words[-8:]) else ""))
    print("\t  .ends = %d, .best = %d, .steps = %d," % (n, r["best"], len(r["step"])))
    floats("step", r["step"])
    for k in "train", "val":
        print("\t  .%s = {" % k)
        for e in r[k]:
            print("\t\t{ %s }," % ", ".join("%.9g" % v for v in e))
        print("\t  },")
    for k in "w", "aux", "mean", "stats":
        floats(k, r.get(k))
    print("\t},")
print("};")
