# step - a small net's step by PyTorch in f64, as the C tables of step_torch.h.  Needs PyTorch: run by hand, once.
#
#	python3 tests/golden/step.py > tests/golden/step_torch.h
#
# data -> conv 3x3 -> batch norm -> relu -> concat[conv 3x3 2 apart, max pool cut at the border, padded average pool]
# -> tanh -> fc -> softmax.  Inputs are multiples of 1/8, so that the tables hold them exactly.
import torch
from torch.nn import functional as F

EPS = 1 / 1024
torch.manual_seed(7)


def eighths(*shape, most=8):
    return torch.randint(-most, most + 1, shape).double() / 8


def norm(x, mean, var):
    z = (x - mean[:, None, None]) / torch.sqrt(var[:, None, None] + EPS)
    return w[2][:, None, None] * z + w[3][:, None, None]


def scores(x, mean, var):
    y = F.conv2d(x, w[0], w[1], padding=1)
    if mean is None:
        mean, var = y.mean((0, 2, 3)), y.var((0, 2, 3), unbiased=False)
        stats.extend([mean.detach(), var.detach()])
    y = norm(y, mean, var)
    assert y.abs().min() > 1e-3, "relu would stand on its corner: take another seed"
    y = F.relu(y)
    y = torch.cat([F.conv2d(y, w[4], w[5], stride=2, padding=1), F.max_pool2d(y, 3, 2, ceil_mode=True),
                   F.avg_pool2d(y, 3, 2, padding=1)], 1)
    return F.linear(torch.tanh(y).flatten(1), w[6], w[7])


def table(name, *tensors):
    v = [f"{float(a):.9g}" for t in tensors for a in t.detach().flatten()]
    print(f"static const float step_{name}[] = {{")
    for i in range(0, len(v), 8):
        print("\t" + ", ".join(a if set(a) & set(".e") else a + ".0" for a in v[i:i + 8]) + ",")
    print("};\n")


x, label = eighths(3, 2, 6, 4, most=16), torch.tensor([2, 0, 1])
w = [eighths(3, 2, 3, 3), eighths(3), torch.tensor([0.75, 1.5, 1.25]).double(), eighths(3, most=3),
     eighths(2, 3, 3, 3), eighths(2), eighths(3, 48), eighths(3)]
aux = [eighths(3), torch.tensor([2.0, 1.5, 0.5]).double()]
stats = []
for t in w:
    t.requires_grad_()
out = scores(x, None, None)
loss = F.cross_entropy(out, label, reduction="sum")
loss.backward()
out = scores(x, *aux)
print("/* step_torch - a small net's step by PyTorch, made by step.py: weights, data, and what they give. */")
print("#ifndef TESTS_GOLDEN_STEP_TORCH_H\n#define TESTS_GOLDEN_STEP_TORCH_H\n\n#include <stdint.h>\n")
table("w", *w)
table("aux", *aux)
table("x", x)
print(f"static const int32_t step_label[] = {{ {', '.join(str(int(y)) for y in label)} }};\n")
print(f"static const double step_loss = {float(loss.detach()):.12g};\n")
table("g", *[t.grad for t in w])
table("stats", *stats)
print("/* In evaluation, by aux. */")
print(f"static const double step_eval_loss = {float(F.cross_entropy(out, label, reduction='sum').detach()):.12g};\n")
table("prob", F.softmax(out, 1))
print("#endif")
