# grads - layers that learn by PyTorch in f64, as the C tables of grads_torch.h.  Needs PyTorch: run by hand, once.
#
#	python3 tests/golden/grads.py > tests/golden/grads_torch.h
#
# Each case is data -> the layers -> fc -> softmax of two classes.  The tables hold the gradients of the layers' own weights
# and biases; the last layer's output by way of the gradient of the fc's weight: that of class 0, class 1 having its
# negative; and the gradient of what goes in by way of a convolution of 5x5 for each channel in front, which is the identity:
# as many sums of x dx as a plane has places and more.  Of more than 500 numbers every 37th is there.
import textwrap

import torch
from torch.nn import functional as F

torch.manual_seed(19)

C, H, W, K, FRONT = 4, 5, 4, 2, 5
x = torch.randint(-16, 17, (2, C, H, W)).double() / 8
label = torch.tensor([1, 0])
# What drop_bits() lets stay, for the draw and the layer of the test, which says whether it is so.
mask = ("01101000000100011101100101011110011011110110111111100010101001100101010001111010"
        "11100000011111011111000111111011101101001111011110100111111111111001111101111010")
drop = 0.375


def table(name, t, kind="float"):
    v = [f"{float(a):.7g}" for a in t]
    text = ", ".join(a if set(a) & set(".e") else a + ".0" for a in v)
    print(f"static const {kind} {name}[] = {{")
    print("\n".join("\t" + line for line in textwrap.wrap(text, 110, break_on_hyphens=False)))
    print("};\n")


# Weights and biases in the test too: small numbers that are functions of their place.
def weights(*shape, over):
    n = torch.Size(shape).numel()
    return torch.tensor([((3 * j * j + 5 * j) % 23 - 11) / over for j in range(n)]).double().reshape(shape).requires_grad_()


def biases(k):
    return torch.tensor([(7 * j % 9 - 4) / 8 for j in range(k)]).double().requires_grad_()


def conv(y, own, k, r, s, over=16, groups=1, **how):
    own += [weights(k, y.shape[1] // groups, r, s, over=over), biases(k)]
    return F.conv2d(y, own[-2], own[-1], groups=groups, **how)


def full(y, own):
    own += [weights(5, y[0].numel(), over=64), biases(5)]
    return F.linear(y.flatten(1), own[-2], own[-1])


layers = {
    "plain": lambda y, own: conv(y, own, 3, 3, 3, padding=1),
    "strided": lambda y, own: conv(y, own, 3, 3, 2, stride=(2, 3), padding=(1, 0)),
    "dilated": lambda y, own: conv(y, own, 3, 3, 2, padding=(2, 1), dilation=(2, 3)),
    "groups": lambda y, own: conv(y, own, 6, 3, 3, padding=1, groups=2),
    "depth": lambda y, own: conv(y, own, C, 3, 3, padding=1, groups=C),
    "depth_more": lambda y, own: conv(y, own, 2 * C, 3, 2, stride=(1, 2), padding=1, groups=C),
    "wide": lambda y, own: conv(conv(y, own, 32, 1, 1, over=64), own, 32, 3, 3, over=512, padding=1),
    "full": full,
    "dropout": lambda y, own: y * torch.tensor([int(m) for m in mask]).reshape(y.shape) / (1 - drop),
}


def told(t):
    t = t.flatten()
    return t if t.numel() <= 500 else t[::37]


print("/* grads_torch - layers that learn by PyTorch, made by grads.py: what comes out, what goes back, and what is learned. */")
print("#ifndef TESTS_GOLDEN_GRADS_TORCH_H\n#define TESTS_GOLDEN_GRADS_TORCH_H\n\n#include <stdint.h>\n")
print(f"enum {{ GRADS_N = 2, GRADS_C = {C}, GRADS_H = {H}, GRADS_W = {W}, GRADS_K = {K}, GRADS_FRONT = {FRONT} }};\n")
table("grads_x", x.flatten())
print("static const int32_t grads_label[] = { 1, 0 };")
print(f'#define GRADS_DROP {drop}f\n#define GRADS_MASK "{mask[:80]}" \\\n\t"{mask[80:]}"\n')
for name, layer in layers.items():
    front = torch.nn.init.dirac_(torch.empty(C, 1, FRONT, FRONT).double(), groups=C).requires_grad_()
    own = []
    y = layer(F.conv2d(x, front, groups=C, padding=FRONT // 2), own)
    n = y[0].numel()
    w = torch.tensor([((j * j + 1) % 11) / 64 for j in range(K * n)]).double().reshape(K, n).requires_grad_()
    loss = F.cross_entropy(F.linear(y.flatten(1), w), label, reduction="sum")
    loss.backward()
    print(f"static const double grads_{name}_loss = {float(loss.detach()):.12g};")
    table(f"grads_{name}_out", told(w.grad[0]))
    table(f"grads_{name}_back", front.grad.flatten())
    if own:
        table(f"grads_{name}_own", torch.cat([told(p.grad) for p in own]))
print("#endif")
