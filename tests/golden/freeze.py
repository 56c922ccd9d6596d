# freeze - a net partly frozen by PyTorch in f64, as the C tables of freeze_torch.h.  Needs PyTorch: run by hand, once.
#
#	python3 tests/golden/freeze.py > tests/golden/freeze_torch.h
#
# data -> conv 3x3 -> batch norm -> relu -> conv 3x3 -> batch norm -> relu -> fc -> softmax.  In the first table the
# first conv and norm are frozen, in the second the second norm alone: requires_grad=False, and eval() for the norms.
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(5)


def eighths(*shape, most=8):
    return torch.randint(-most, most + 1, shape).double() / 8


def table(name, *tensors):
    v = [f"{float(a):.9g}" for t in tensors for a in t.detach().flatten()]
    print(f"static const float {name}[] = {{")
    for i in range(0, len(v), 8):
        print("\t" + ", ".join(a if set(a) & set(".e") else a + ".0" for a in v[i:i + 8]) + ",")
    print("};\n")


net = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4, 1 / 1024, 0), nn.ReLU(),
                    nn.Conv2d(4, 3, 3, padding=1), nn.BatchNorm2d(3, 1 / 1024, 0), nn.ReLU(), nn.Flatten(),
                    nn.Linear(60, 3)).double()
with torch.no_grad():
    for p in net.parameters():
        p.copy_(eighths(*p.shape))
    for bn in (net[1], net[4]):
        bn.weight.copy_(torch.linspace(0.5, 1.25, len(bn.weight)))
        bn.running_mean.copy_(eighths(*bn.running_mean.shape))
        bn.running_var.copy_(torch.linspace(0.5, 2, len(bn.weight)))
x, label = eighths(3, 2, 5, 4, most=16), torch.tensor([2, 0, 1])

print("/* freeze_torch - a net partly frozen by PyTorch, made by freeze.py: weights, data, and the gradients of the rest. */")
print("#ifndef TESTS_GOLDEN_FREEZE_TORCH_H\n#define TESTS_GOLDEN_FREEZE_TORCH_H\n\n#include <stdint.h>\n")
table("freeze_w", *net.parameters())
table("freeze_aux", net[1].running_mean, net[1].running_var, net[4].running_mean, net[4].running_var)
table("freeze_x", x)
print("static const int32_t freeze_label[] = { 2, 0, 1 };\n")
for name, frozen in (("first", (0, 1)), ("norm", (4,))):
    for i, part in enumerate(net):
        part.train(i not in frozen)
        part.requires_grad_(i not in frozen)
        part.zero_grad()
    loss = F.cross_entropy(net(x), label, reduction="sum")
    loss.backward()
    print(f"static const double freeze_{name}_loss = {float(loss.detach()):.12g};")
    table(f"freeze_{name}_g", *[torch.zeros_like(p) if p.grad is None else p.grad for p in net.parameters()])
print("#endif")
