# fast - what a net made for speed begins with and how its norms learn, by PyTorch in f64, as the C tables of fast_torch.h.
# Needs PyTorch: run by hand, once.
#
#	python3 tests/golden/fast.py > tests/golden/fast_torch.h
#
# The formulas are those of Jordan's airbench94 (2024): the eigenvectors of the mean of p p^T over all patches p of the
# pictures, by torch.linalg.eigh, each divided by sqrt(eigenvalue + 5e-4), the largest eigenvalue first; dirac_() of as many
# filters as there are channels; and an SGD of Nesterov's momentum whose biases of norms have 64 times the rate, and a decay
# that takes as much of them as of the others.
import textwrap

import torch

torch.manual_seed(31)


def table(name, t, kind="float"):
    v = [f"{float(a):.8g}" if kind == "float" else str(int(a)) for a in t.detach().flatten()]
    text = ", ".join(a if kind != "float" or set(a) & set(".e") else a + ".0" for a in v)
    print(f"static const {kind} {name}[] = {{")
    print("\n".join("\t" + line for line in textwrap.wrap(text + ",", 110, break_on_hyphens=False)))
    print("};\n")


print("/* fast_torch - whitening, identity and scaled biases by PyTorch, made by fast.py. */")
print("#ifndef TESTS_GOLDEN_FAST_TORCH_H\n#define TESTS_GOLDEN_FAST_TORCH_H\n\n#include <stdint.h>\n")

# Neighbours are alike, or there is nothing to whiten.
N, C, H, W, R, S = 5, 3, 6, 5, 2, 2
x = torch.randint(-16, 17, (N, C, H, W)).double().cumsum(3).cumsum(1) / 32
patches = x.unfold(2, R, 1).unfold(3, S, 1).transpose(1, 3).reshape(-1, C * R * S)
values, vectors = torch.linalg.eigh(patches.T @ patches / len(patches), UPLO="U")
print(f"enum {{ FAST_N = {N}, FAST_C = {C}, FAST_H = {H}, FAST_W = {W}, FAST_R = {R}, FAST_S = {S} }};\n")
table("fast_x", x)
table("fast_filters", vectors.T.flip(0) / torch.sqrt(values.flip(0) + 5e-4).unsqueeze(1))

# Which numbers are 1 of the filters that are not drawn, for channels out, in a group, and groups; rows and columns.
print("struct fast_dirac {\n\tuint32_t k, c, groups, r, s;\n\tuint32_t n, one[8];\n};\n")
print("static const struct fast_dirac fast_dirac[] = {")
for k, c, groups, r, s in ((6, 4, 1, 3, 3), (3, 5, 1, 3, 3), (4, 4, 1, 1, 1), (4, 3, 1, 5, 3), (5, 4, 1, 4, 2), (6, 2, 2, 3, 3),
                           (8, 1, 8, 3, 3)):
    w = torch.rand(k, c, r, s)
    if groups == 1:
        torch.nn.init.dirac_(w[:c])
        w = w[:c]
    else:
        torch.nn.init.dirac_(w, groups)
    ones = (w.flatten() == 1).nonzero().flatten()
    assert len(ones) == w.flatten().sum()
    print(f"\t{{ {k}, {c}, {groups}, {r}, {s}, {len(ones)}, {{ {', '.join(str(int(i)) for i in ones)} }} }},")
print("};\n")

# Three updates of a convolution's weights and a norm's biases, by gradients that are told.
K, LR, WD, SCALE = 4, 0.25, 0.03125, 64
w, beta = (torch.randint(-16, 17, shape).double() / 8 for shape in ((K * C * 9,), (K,)))
w.requires_grad_()
beta.requires_grad_()
g = torch.randint(-16, 17, (3, K * C * 9 + K)).double() / 64
lr = LR / SCALE
print(f"#define FAST_K {K}\n#define FAST_LR {lr}f\n#define FAST_WD {WD / lr}f\n#define FAST_MULTS "
      f'"lr:*_beta={SCALE};wd:*_beta={1 / SCALE}"\n')
table("fast_before", torch.cat([w, beta]))
table("fast_g", g)
sgd = torch.optim.SGD([dict(params=[beta], lr=lr * SCALE, weight_decay=WD / (lr * SCALE)),
                       dict(params=[w], lr=lr, weight_decay=WD / lr)], momentum=0.875, nesterov=True)
for step in g:
    w.grad, beta.grad = step[:-K].clone(), step[-K:].clone()
    sgd.step()
table("fast_after", torch.cat([w, beta]))
print("#endif")
