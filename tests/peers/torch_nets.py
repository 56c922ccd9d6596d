# torch_nets - torchvision's nets with random weights under our names, and what they compute: a picture of the whole.
#
#	python3 tests/peers/torch_nets.py resnet50|vgg16 FOLDER
#
# FOLDER gets weights.safetensors, x.f32 [N,3,H,W], logits.f32 [N,1000] in evaluation, and grads.safetensors: the gradients
# of one training step in f64 under the same names, summed over the batch, with the batch's statistics as the running ones.
# Prints how far PyTorch's own f32 is from that, and its logits in bf16 from those in f32, relative, in the 2-norm; and how
# far the logits in f64 move when the pictures alone are rounded to bf16.
import copy
import re
import sys

import torch
import torchvision
from safetensors.torch import save_file

N = 4
torch.manual_seed(5)
torch.set_num_threads(2)


def resnet_name(name):
    return {"weight": "gamma", "bias": "beta"} if re.search(r"bn\d$|downsample\.1$", name) else {}


def vgg_names():
    convs = [f"conv{g}_{i}" for g, n in enumerate((2, 2, 3, 3, 3), 1) for i in range(1, n + 1)]
    return dict(zip((0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28), convs)), {0: "fc6", 3: "fc7", 6: "fc8"}


def ours(net, name):
    node, kind = name.rsplit(".", 1)
    if net == "vgg16":
        part, i = node.split(".")
        return f"{vgg_names()[part == 'classifier'][int(i)]}_{kind}"
    kind = {"running_mean": "moving_mean", "running_var": "moving_var"}.get(kind, resnet_name(node).get(kind, kind))
    return f"{node}_{kind}"


def named(net, tensors):
    return {ours(net, k): v.detach().contiguous() for k, v in tensors if not k.endswith("num_batches_tracked")}


net, folder = sys.argv[1:]
model = getattr(torchvision.models, net)(weights=None)
for m in model.modules():
    if isinstance(m, torch.nn.Dropout):
        m.p = 0.0
    if isinstance(m, torch.nn.BatchNorm2d):
        m.momentum = 1.0
        torch.nn.init.uniform_(m.weight, 0.5, 1.5)
        torch.nn.init.uniform_(m.bias, -0.5, 0.5)
    if isinstance(m, torch.nn.Conv2d) and net == "vgg16":
        torch.nn.init.uniform_(m.bias, -0.1, 0.1)
x, label = torch.randn(N, 3, 224, 224), torch.arange(N) * 7


def step(m, x):
    """The gradients by name of one training step; the running statistics become the batch's, biased as ours are."""
    counts, hooks = {}, []
    for bn in m.modules():
        if isinstance(bn, torch.nn.BatchNorm2d):
            hooks.append(bn.register_forward_hook(lambda bn, i, o: counts.__setitem__(bn, i[0].numel() // i[0].shape[1])))
    m.train()
    torch.nn.functional.cross_entropy(m(x), label, reduction="sum").backward()
    for bn, count in counts.items():
        bn.running_var *= (count - 1) / count
    for h in hooks:
        h.remove()
    return [(k, p.grad) for k, p in m.named_parameters()]


exact = copy.deepcopy(model).double()
wide, narrow = step(exact, x.double()), step(model, x)
off = sum(((a - b) ** 2).sum() for (_, a), (_, b) in zip(narrow, wide))
print("torch", float((off / sum((b ** 2).sum() for _, b in wide)).sqrt()))
model.eval()
with torch.no_grad():
    logits = model(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = model(x).float()
    exact.eval()
    sharp, coarse = exact(x.double()), exact(x.bfloat16().double())


def moved(a, b):
    return float((a - b).norm() / (b - b.mean(1, keepdim=True)).norm())


print("bf16", moved(half, logits))
print("picture", moved(coarse, sharp))
save_file(named(net, model.state_dict().items()), f"{folder}/weights.safetensors")
grads = [(k, v.float()) for k, v in wide + list(exact.named_buffers())]
save_file(named(net, grads), f"{folder}/grads.safetensors")
x.numpy().tofile(f"{folder}/x.f32")
logits.numpy().tofile(f"{folder}/logits.f32")
