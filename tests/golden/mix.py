# mix - the loss of mixtures of two classes by PyTorch in f64, as the C tables of mix_torch.h.  Needs PyTorch: run by hand, once.
#
#	python3 tests/golden/mix.py > tests/golden/mix_torch.h
#
# data [N,D] -> fc of K -> softmax, cross entropy with soft labels, without smoothing and with.
import torch
from torch.nn import functional as F

N, D, K = 5, 6, 4
torch.manual_seed(11)
x = torch.randint(-8, 9, (N, D)).double() / 8
w = (torch.randint(-8, 9, (K, D)).double() / 8).requires_grad_()
y = torch.tensor([0, 3, 1, 2, 2])
other = torch.tensor([2, 0, 1, 3, 0])
share = torch.tensor([0.25, 0.5, 0.375, 0.0, 0.125]).double()
q = F.one_hot(y, K) * (1 - share)[:, None] + F.one_hot(other, K) * share[:, None]


def table(kind, name, t):
    v = [f"{float(a):.9g}" if kind == "float" else str(int(a)) for a in t.detach().flatten()]
    v = [a if kind != "float" or set(a) & set(".e") else a + ".0" for a in v]
    print(f"static const {kind} mix_{name}[] = {{")
    for i in range(0, len(v), 8):
        print("\t" + ", ".join(v[i:i + 8]) + ",")
    print("};")


print("/* mix_torch - the loss of mixtures of two classes by PyTorch, made by mix.py. */")
print("#ifndef TESTS_GOLDEN_MIX_TORCH_H\n#define TESTS_GOLDEN_MIX_TORCH_H\n\n#include <stdint.h>\n")
print(f"#define MIX_N {N}\n#define MIX_D {D}\n#define MIX_K {K}\n")
for kind, name, t in [("float", "x", x), ("float", "w", w), ("int32_t", "y", y), ("int32_t", "other", other), ("float", "share", share)]:
    table(kind, name, t)
loss, grad = [], []
for smooth in (0.0, 0.125):
    w.grad = None
    e = F.cross_entropy(x @ w.T, q, label_smoothing=smooth, reduction="sum")
    e.backward()
    loss.append(e.item())
    grad.append(w.grad.clone())
print("/* Without smoothing, and with 1/8. */")
table("float", "loss", torch.tensor(loss).double())
table("float", "dw", torch.stack(grad))
print(f"#define MIX_PLAIN {F.cross_entropy(x @ w.T, y, reduction='sum').item():.9g}\t/* the loss of classes y alone */")
print(f"#define MIX_CORRECT {int(((x @ w.T).argmax(1) == y).sum())}\n\n#endif")
