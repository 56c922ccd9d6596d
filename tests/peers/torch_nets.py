# torch_nets - nets in PyTorch with random weights under our names, and what they compute: a picture of the whole.
#
#	python3 tests/peers/torch_nets.py NET FOLDER [spread]
#
# NET is resnet50 or vgg16, which are torchvision's, or inception, lenet, lenet_bn, mlp, elu or fast.  Weights are those
# that PyTorch begins with, but for the last layer's, which are taken times a power of two, so that scores are of about 1: an
# exact change of every score, and of softmax's logarithms as many digits are left.  With `spread` batch norm's numbers and biases are noise instead, so that no layer may forget any.
#
# FOLDER gets weights.safetensors, x.f32 [N,C,H,W], logits.f32 [N,classes] in evaluation, and grads.safetensors: the
# gradients of one training step in f64 under the same names, summed over the batch, with the batch's statistics as the
# running ones.  Prints how far PyTorch's own f32 is from that, and its logits in bf16 from those in f32, relative, in the
# 2-norm.
import copy
import math
import re
import sys

import torch
import torchvision
from safetensors.torch import save_file
from torch import nn


class Small(nn.Module):
    """A net as a function, whose layers have our names and are made when they are first met."""
    def __init__(self, net, *shape):
        super().__init__()
        self.net = net
        self.eval()(torch.zeros(1, *shape))

    def layer(self, name, kind, *given):
        if name not in self._modules:
            self.add_module(name, kind(*given).train(self.training))
        return self._modules[name]

    def full(self, x, k, name):
        x = x.flatten(1)
        return self.layer(name, nn.Linear, x.shape[1], k)(x)

    def conv(self, x, k, kernel, stride, pad, name):
        return self.layer(name, nn.Conv2d, x.shape[1], k, kernel, stride, pad)(x)

    def factory(self, x, k, kernel, stride, pad, name):
        x = self.conv(x, k, kernel, stride, pad, name)
        return torch.relu(self.layer(name + "_bn", nn.BatchNorm2d, k)(x))

    def forward(self, x):
        return self.net(self, x)


def inception(m, x):
    def simple(x, a, b, name):
        return torch.cat([m.factory(x, a, 1, 1, 0, name + "_1x1"), m.factory(x, b, 3, 1, 1, name + "_3x3")], 1)

    def halve(x, k, name):
        return torch.cat([m.factory(x, k, 3, 2, 1, name + "_3x3"), nn.functional.max_pool2d(x, 3, 2, ceil_mode=True)], 1)

    x = simple(simple(m.factory(x, 96, 3, 1, 1, "conv1"), 32, 32, "in3a"), 32, 48, "in3b")
    x = halve(x, 80, "in3c")
    for a, b, name in (112, 48, "in4a"), (96, 64, "in4b"), (80, 80, "in4c"), (48, 96, "in4d"):
        x = simple(x, a, b, name)
    x = simple(simple(halve(x, 96, "in4e"), 176, 160, "in5a"), 176, 160, "in5b")
    return m.full(nn.functional.avg_pool2d(x, 7), 10, "fc1")


def lenet(m, x):
    x = nn.functional.max_pool2d(torch.tanh(m.conv(x, 20, 5, 1, 0, "conv1")), 2)
    x = nn.functional.max_pool2d(torch.tanh(m.conv(x, 50, 5, 1, 0, "conv2")), 2)
    return m.full(torch.tanh(m.full(x, 500, "fc1")), 10, "fc2")


def lenet_bn(m, x):
    for i in "12":
        x = torch.relu(m.layer("bn" + i, nn.BatchNorm2d, 32)(m.conv(x, 32, 3, 2, 0, "conv" + i)))
        x = nn.functional.max_pool2d(x, 2, ceil_mode=True)
    return m.full(x, 10, "fc1")


def elu(m, x):
    for i, k in enumerate((200, 100, 50, 25), 1):
        x = nn.functional.elu(m.full(x, k, f"fc{i}"))
    return m.full(x, 10, "fc5")


def fast(m, x):
    """That of Jordan's airbench94: the scale of its norms is 1 and stays so."""
    def norm(x, name):
        bn = m.layer(name, nn.BatchNorm2d, x.shape[1], 1e-12)
        bn.weight.requires_grad_(False)
        return nn.functional.gelu(bn(x))

    def conv(x, k, name):
        return m.layer(name, nn.Conv2d, x.shape[1], k, 3, 1, 1, 1, 1, False)(x)

    x = nn.functional.gelu(m.conv(x, 24, 2, 1, 0, "whiten"))
    for i, k in enumerate((64, 256, 256), 1):
        x = norm(nn.functional.max_pool2d(conv(x, k, f"group{i}_conv1"), 2), f"group{i}_norm1")
        x = norm(conv(x, k, f"group{i}_conv2"), f"group{i}_norm2")
    return m.layer("head", nn.Linear, x.shape[1], 10, False)(x.amax((2, 3))) / 9


def mlp(m, x):
    return m.full(torch.relu(m.full(torch.relu(m.full(x, 128, "fc1")), 64, "fc2")), 10, "fc3")


def vision(name):
    return lambda shape: getattr(torchvision.models, name)(weights=None)


def small(net):
    return lambda shape: Small(net, *shape)


# The model, its input, pictures in a batch.
NETS = {"resnet50": (vision("resnet50"), (3, 224, 224), 4), "vgg16": (vision("vgg16"), (3, 224, 224), 4),
        "inception": (small(inception), (3, 28, 28), 128), "lenet": (small(lenet), (1, 28, 28), 100),
        "lenet_bn": (small(lenet_bn), (1, 28, 28), 100), "mlp": (small(mlp), (1, 28, 28), 100),
        "elu": (small(elu), (1, 28, 28), 100), "fast": (small(fast), (3, 32, 32), 64)}


def vgg_names():
    convs = [f"conv{g}_{i}" for g, n in enumerate((2, 2, 3, 3, 3), 1) for i in range(1, n + 1)]
    return dict(zip((0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28), convs)), {0: "fc6", 3: "fc7", 6: "fc8"}


def ours(net, name):
    node, kind = name.rsplit(".", 1)
    if net == "vgg16":
        part, i = node.split(".")
        return f"{vgg_names()[part == 'classifier'][int(i)]}_{kind}"
    norm = {"weight": "gamma", "bias": "beta"} if re.search(r"(bn|norm)\d?$|downsample\.1$", node) else {}
    return f"{node}_" + {"running_mean": "moving_mean", "running_var": "moving_var", **norm}.get(kind, kind)


def named(net, tensors):
    return {ours(net, k): v.detach().contiguous() for k, v in tensors if not k.endswith("num_batches_tracked")}


def spread(model):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            if m.weight.requires_grad:
                nn.init.uniform_(m.weight, 0.5, 1.5)
            nn.init.uniform_(m.bias, -0.5, 0.5)
        elif isinstance(m, nn.Conv2d) and m.bias is not None:
            nn.init.uniform_(m.bias, -0.1, 0.1)


def scores_of_one(model, x):
    """The last layer times a power of two; gives that."""
    last = [m for m in model.modules() if isinstance(m, nn.Linear)][-1]
    with torch.no_grad():
        times = 2.0 ** -round(math.log2(model(x).std()))
        last.weight *= times
        if last.bias is not None:
            last.bias *= times
    return times


def step(m, x, label):
    """The gradients by name of one training step; the running statistics become the batch's, biased as ours are."""
    counts, hooks = {}, []
    for bn in m.modules():
        if isinstance(bn, nn.BatchNorm2d):
            bn.momentum = 1.0
            hooks.append(bn.register_forward_hook(lambda bn, i, o: counts.__setitem__(bn, i[0].numel() // i[0].shape[1])))
    m.train()
    nn.functional.cross_entropy(m(x), label, reduction="sum").backward()
    for bn, count in counts.items():
        bn.running_var *= (count - 1) / count
    for h in hooks:
        h.remove()
    return [(k, p.grad if p.requires_grad else torch.zeros_like(p)) for k, p in m.named_parameters()]


def apart(a, b):
    return float((a - b).norm() / b.norm())


net, folder = sys.argv[1:3]
make, shape, n = NETS[net]
torch.manual_seed(5)
torch.set_num_threads(2)
model = make(shape).eval()
for m in model.modules():
    if isinstance(m, nn.Dropout):
        m.p = 0.0
x = torch.randn(n, *shape)
classes = model(x[:1]).shape[1]
label = torch.arange(n) * 7 % classes
if sys.argv[3:] == ["spread"]:
    # The statistics are those of these pictures, so that activations keep their size.
    spread(model)
    step(model, x, label)
    model.zero_grad()
    model.eval()
print("times", scores_of_one(model, x))
exact, rough = copy.deepcopy(model).double(), copy.deepcopy(model)
wide, narrow = step(exact, x.double(), label), step(rough, x, label)
print("torch", apart(torch.cat([g.double().flatten() for _, g in narrow]), torch.cat([g.flatten() for _, g in wide])))
with torch.no_grad():
    logits = model(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = model(x).float()
print("bf16", apart(half - half.mean(1, keepdim=True), logits - logits.mean(1, keepdim=True)))
save_file(named(net, model.state_dict().items()), f"{folder}/weights.safetensors")
save_file(named(net, [(k, v.float()) for k, v in wide + list(exact.named_buffers())]), f"{folder}/grads.safetensors")
x.numpy().tofile(f"{folder}/x.f32")
logits.numpy().tofile(f"{folder}/logits.f32")
