#!/usr/bin/env python3
"""Makes merge_torch.h: means, averages of a series and batch norm's statistics, by PyTorch in f64.  python3 merge.py > merge_torch.h"""
import torch
from torch.optim import swa_utils

torch.set_default_dtype(torch.float64)
FILES, COUNT = 4, 12
SAW = [5, 8, 3, 16]  # samples of each file, of 4 channels
PICTURES, SIDE = 22, 6


def numbers(n, mul, add, mod, div):
    """Whole numbers over a power of two, so that f16 and bf16 have them too."""
    return torch.tensor([((i * mul + add) % mod - mod // 2) / div for i in range(n)])


def files():
    return [numbers(COUNT, 37, 29 * f, 101, 64) for f in range(FILES)]


def series(avg):
    """The average of a model whose weights are those of one file after the other."""
    model = torch.nn.ParameterList([torch.zeros(COUNT)])
    mean = swa_utils.AveragedModel(model, multi_avg_fn=avg)
    for w in files():
        model[0].data.copy_(w)
        mean.update_parameters(model)
    return mean.module[0].detach()


def rounded(x, dtype):
    return [v & 0xFFFF for v in x.to(dtype).view(torch.int16).tolist()]


def floats(name, w):
    print("static const float %s[%d] = {" % (name, len(w)))
    for i in range(0, len(w), 8):
        print("\t" + " ".join("%.9g," % x for x in w[i:i + 8]))
    print("};")


def words(name, w):
    print("static const uint16_t %s[%d] = {\n\t%s,\n};" % (name, len(w), ", ".join("0x%04x" % x for x in w)))


def union():
    """Mean and variance of what each file saw, and of all that they saw."""
    x = [numbers(4 * n, 53, 7 * n, 97, 16).reshape(n, 4) * torch.tensor([1.0, 2, 0.5, 3]) + n for n in SAW]
    floats("torch_saw", torch.stack([torch.stack([s.mean(0), s.var(0, unbiased=False)]) for s in x]).flatten().tolist())
    y = torch.cat(x)
    floats("torch_union", torch.cat([y.mean(0), y.var(0, unbiased=False)]).tolist())


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Conv2d(3, 5, 3, padding=1)
        self.first = torch.nn.BatchNorm2d(5)
        self.b = torch.nn.Conv2d(5, 4, 3, stride=2, bias=False)
        self.second = torch.nn.BatchNorm2d(4)
        for p, (mul, add) in zip(self.parameters(), ((37, 0), (29, 3), (17, 31), (23, 7), (31, 5), (41, 11), (43, 13))):
            with torch.no_grad():
                p.copy_(numbers(p.numel(), mul, add, 101, 64).reshape(p.shape))

    def forward(self, x):
        return self.second(self.b(torch.relu(self.first(self.a(x)))))


def pictures():
    at = torch.arange(PICTURES * SIDE * SIDE * 3)
    p = (at * 37 + at // 108 * 59 + at * at // 50) % 256
    return (p.reshape(PICTURES, SIDE, SIDE, 3).permute(0, 3, 1, 2).double() - 128) / 64


def statistics(batch, many):
    """Of all that the layers saw in many batches; and where these are of one size, what update_bn() makes of them."""
    net, seen = Net(), {}
    loader = list(torch.split(pictures(), batch))[:many]
    for l in net.first, net.second:
        l.register_forward_hook(lambda l, x, _: seen.setdefault(l, []).append(x[0].detach().transpose(0, 1).flatten(1)))
    swa_utils.update_bn(loader, net)
    out = []
    for l in net.first, net.second:
        x = torch.cat(seen[l], 1)
        mean, var = x.mean(1), x.var(1, unbiased=False)
        if all(len(b) == batch for b in loader):
            m = seen[l][0].size(1)
            spread = torch.stack([b.mean(1) for b in seen[l]]).var(0, unbiased=False)
            assert torch.allclose(l.running_mean, mean)
            assert torch.allclose(l.running_var * (m - 1) / m + spread, var)  # of batches' unbiased variances the mean
        out += mean.tolist() + var.tolist()
    return out


w = torch.stack(files())
print("/* merge_torch - merged numbers, by PyTorch %s; made by merge.py. */" % torch.__version__.split("+")[0])
floats("torch_mean", w.mean(0).tolist())
floats("torch_weighted", (w * torch.tensor(SAW).double()[:, None] / sum(SAW)).sum(0).tolist())
words("torch_three_f16", rounded(w[:3].mean(0), torch.float16))
words("torch_three_bf16", rounded(w[:3].mean(0), torch.bfloat16))
floats("torch_swa", series(swa_utils.get_swa_multi_avg_fn()).tolist())
floats("torch_ema", series(swa_utils.get_ema_multi_avg_fn(0.75)).tolist())
union()
floats("torch_stats_all", statistics(8, 99))
floats("torch_stats_some", statistics(8, 2))
