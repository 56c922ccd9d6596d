# layers - single layers by PyTorch in f64, as the C tables of layers_torch.h.  Needs PyTorch: run by hand, once.
#
#	python3 tests/golden/layers.py > tests/golden/layers_torch.h
#
# Each case is data -> the layer -> fc -> softmax of two classes; the table holds the gradient of x by way of
# a 1x1 convolution of ones over groups of one channel in front, whose weight's gradient is the sum over a plane of x dx,
# and the layer's output by way of the gradient of the fc's weight: that of class 0, class 1 having its negative.
# Formulas that people get wrong: LRN's alpha, edges of ceil, what an average divides by, both GELUs, ELU, label smoothing,
# dilation, groups, reflected borders; and the plain ones.  Layers of several inputs get y and its tanh.
#
#	python3 tests/golden/layers.py bf16 > tests/golden/layers_bf16.h
#
# tells how far PyTorch's own bf16 is off: the norm of the difference by that of the numbers, of what comes out and goes back.
import sys

import torch
from torch.nn import functional as F

torch.manual_seed(11)


def eighths(*shape, most=16):
    return torch.randint(-most, most + 1, shape).double() / 8


def table(name, t, kind="float"):
    v = [f"{float(a):.7g}" for a in t.detach().flatten()]
    print(f"static const {kind} {name}[] = {{")
    for i in range(0, len(v), 10):
        print("\t" + ", ".join(a if set(a) & set(".e") else a + ".0" for a in v[i:i + 10]) + ",")
    print("};\n")


C, H, W, K = 4, 5, 4, 2
x = eighths(2, C, H, W)
label = torch.tensor([1, 0])
conv_w = {"dilated": eighths(4, C, 3, 2, most=4), "groups": eighths(4, C // 2, 3, 3, most=4), "plain": eighths(3, C, 3, 2, most=4)}



def lrn(y, *how):
    """PyTorch has none in bf16 on a CPU."""
    return F.local_response_norm(y, *how) if y.dtype == torch.double else F.local_response_norm(y.float(), *how).to(y.dtype)


layers = {
    "lrn": lambda y: lrn(y, 5, 0.5, 0.75, 2.0),
    "lrn_even": lambda y: lrn(y, 4, 2.0, 0.5, 1.0),
    "max_ceil": lambda y: F.max_pool2d(y, 3, 2, padding=1, ceil_mode=True),
    "avg_padded": lambda y: F.avg_pool2d(y, 3, 2, padding=1, ceil_mode=True, count_include_pad=True),
    "avg_inside": lambda y: F.avg_pool2d(y, (3, 2), (2, 3), padding=(1, 1), ceil_mode=True, count_include_pad=False),
    "elu": lambda y: F.elu(y, 0.75),
    "leaky": lambda y: F.leaky_relu(y, 0.25),
    "gelu": lambda y: F.gelu(y),
    "gelu_tanh": lambda y: F.gelu(y, approximate="tanh"),
    "swish": lambda y: F.silu(y),
    "reflect": lambda y: F.pad(y, (2, 2, 3, 3), mode="reflect"),
    "dilated": lambda y: F.conv2d(y, conv_w["dilated"], stride=(2, 1), padding=(2, 1), dilation=(2, 3)),
    "groups": lambda y: F.conv2d(y, conv_w["groups"], padding=1, groups=2),
    "plain": lambda y: F.conv2d(y, conv_w["plain"], stride=(1, 2), padding=(1, 0)),
    "relu": lambda y: F.relu(y),
    "tanh": lambda y: torch.tanh(y),
    "sigmoid": lambda y: torch.sigmoid(y),
    "linear": lambda y: 0.25 * y,
    "max_whole": lambda y: F.adaptive_max_pool2d(y, 1),
    "avg_whole": lambda y: F.adaptive_avg_pool2d(y, 1),
    "avg": lambda y: F.avg_pool2d(y, 2, (2, 1)),
    "zeros": lambda y: F.pad(y, (1, 1, 2, 2)),
    "add": lambda y: y + torch.tanh(y),
    "mul": lambda y: y * torch.tanh(y),
    "concat": lambda y: torch.cat([y, torch.tanh(y)], 1),
    "smooth": lambda y: y,
}



def run(name, layer, kind):
    """The loss of a case and its gradients, computed in floats of a kind."""
    a = torch.ones(C, 1, 1, 1).to(kind).requires_grad_()
    y = layer(F.conv2d(x.to(kind), a, groups=C))
    n = y[0].numel()
    # The fc's weight in the test: a small number that is a function of its place; n is no multiple of 13, or the classes are one.
    w = torch.tensor([((j * j + 1) % 13) / 64 for j in range(K * n)]).to(kind).reshape(K, n).requires_grad_()
    loss = F.cross_entropy(F.linear(y.flatten(1), w), label, reduction="sum", label_smoothing=0.2 if name == "smooth" else 0.0)
    loss.backward()
    return float(loss.detach()), w.grad[0].double(), a.grad.double()


if "bf16" in sys.argv[1:]:
    print("/* layers_bf16 - how far PyTorch's bf16 is off in single layers, made by layers.py: what comes out, and what goes back. */")
    print("#ifndef TESTS_GOLDEN_LAYERS_BF16_H\n#define TESTS_GOLDEN_LAYERS_BF16_H\n")
    for name, layer in layers.items():
        want = run(name, layer, torch.double)
        for k in conv_w:
            conv_w[k] = conv_w[k].bfloat16()
        got = run(name, layer, torch.bfloat16)
        for k in conv_w:
            conv_w[k] = conv_w[k].double()
        off = [float((g - v).norm() / v.norm()) for g, v in zip(got[1:], want[1:])]
        print(f"static const double layers_{name}_bf16[] = {{ {off[0]:.2g}, {off[1]:.2g} }};")
    print("\n#endif")
    sys.exit()
print("/* layers_torch - single layers by PyTorch, made by layers.py: what goes in, what comes out, and what goes back. */")
print("#ifndef TESTS_GOLDEN_LAYERS_TORCH_H\n#define TESTS_GOLDEN_LAYERS_TORCH_H\n\n#include <stdint.h>\n")
print(f"enum {{ LAYERS_N = 2, LAYERS_C = {C}, LAYERS_H = {H}, LAYERS_W = {W}, LAYERS_K = {K} }};\n")
table("layers_x", x)
print("static const int32_t layers_label[] = { 1, 0 };\n")
for name, w in conv_w.items():
    table(f"layers_{name}_w", w)
for name, layer in layers.items():
    loss, dw, da = run(name, layer, torch.double)
    print(f"static const double layers_{name}_loss = {loss:.12g};")
    table(f"layers_{name}_dw", dw)
    table(f"layers_{name}_da", da)
print("#endif")
