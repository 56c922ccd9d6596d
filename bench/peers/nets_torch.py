"""Nets of share/nets in PyTorch, by the names and options of bench/train: make(name, options, shape, classes)."""
import torch
from torch import nn


class Cat(nn.Module):
    """Runs branches on the same input and joins them by channel."""
    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([b(x) for b in self.branches], 1)


def cbr(c, k, r, s=1, p=0):
    return nn.Sequential(nn.Conv2d(c, k, r, s, p), nn.BatchNorm2d(k), nn.ReLU(inplace=True))


def inception(options, height, classes):
    def simple(c, a, b):
        return Cat(cbr(c, a, 1), cbr(c, b, 3, 1, 1))

    def down(c, n):
        return Cat(cbr(c, n, 3, 2, 1), nn.MaxPool2d(3, 2, ceil_mode=True))

    return nn.Sequential(
        cbr(3, 96, 3, 1, 1), simple(96, 32, 32), simple(64, 32, 48), down(80, 80),
        simple(160, 112, 48), simple(160, 96, 64), simple(160, 80, 80), simple(160, 48, 96), down(144, 96),
        simple(240, 176, 160), simple(336, 176, 160), nn.AvgPool2d(7), nn.Flatten(), nn.Linear(336, classes))


class Unit(nn.Module):
    """A residual unit with batch norm before the convolutions, basic or bottleneck."""
    def __init__(self, c, k, s, first, bottleneck):
        super().__init__()

        def norm(n):
            return nn.BatchNorm2d(n, eps=2e-5), nn.ReLU(inplace=True)

        def conv(i, o, r, stride):
            return nn.Conv2d(i, o, r, stride, r // 2, bias=False)

        self.norm = nn.BatchNorm2d(c, eps=2e-5)
        m = k // 4
        self.body = nn.Sequential(conv(c, m, 1, 1), *norm(m), conv(m, m, 3, s), *norm(m), conv(m, k, 1, 1)) if bottleneck \
            else nn.Sequential(conv(c, k, 3, s), *norm(k), conv(k, k, 3, 1))
        self.shortcut = conv(c, k, 1, s) if first else None

    def forward(self, x):
        a = torch.relu(self.norm(x))
        return self.body(a) + (x if self.shortcut is None else self.shortcut(a))


def resnet(options, height, classes):
    if height <= 28:
        n = (int(options.get("layers", 20)) - 2) // 6
        units, filters, bottleneck = [n] * 3, [16, 16, 32, 64], False
        stem = [nn.Conv2d(3, 16, 3, 1, 1, bias=False)]
    else:
        layers = int(options.get("layers", 50))
        units = {18: [2, 2, 2, 2], 34: [3, 4, 6, 3], 50: [3, 4, 6, 3], 101: [3, 4, 23, 3]}[layers]
        bottleneck = layers >= 50
        filters = [64, 256, 512, 1024, 2048] if bottleneck else [64, 64, 128, 256, 512]
        stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64, eps=2e-5), nn.ReLU(inplace=True),
                nn.MaxPool2d(3, 2, 1)]
    body, c = [], filters[0]
    for i, n in enumerate(units):
        for j in range(n):
            body.append(Unit(c, filters[i + 1], 2 if i and not j else 1, j == 0, bottleneck))
            c = filters[i + 1]
    return nn.Sequential(nn.BatchNorm2d(3, eps=2e-5), *stem, *body, nn.BatchNorm2d(c, eps=2e-5), nn.ReLU(inplace=True),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, classes))


def vgg(options, height, classes):
    groups = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}[int(options.get("layers", 16))]
    body, c = [], 3
    for n, k in zip(groups, (64, 128, 256, 512, 512)):
        for _ in range(n):
            body += [nn.Conv2d(c, k, 3, 1, 1), nn.ReLU(inplace=True)]
            c = k
        body.append(nn.MaxPool2d(2))
    return nn.Sequential(*body, nn.Flatten(), nn.Linear(512 * (height // 32) ** 2, 4096), nn.ReLU(inplace=True), nn.Dropout(),
                         nn.Linear(4096, 4096), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(4096, classes))


class Scale(nn.Module):
    def forward(self, x):
        return x / 9


def fast(options, height, classes):
    def norm(k):
        layer = nn.BatchNorm2d(k, eps=1e-12, momentum=0.4)
        layer.weight.requires_grad = False
        return layer, nn.GELU()

    def group(c, k):
        return [nn.Conv2d(c, k, 3, 1, 1, bias=False), nn.MaxPool2d(2), *norm(k), nn.Conv2d(k, k, 3, 1, 1, bias=False), *norm(k)]

    return nn.Sequential(nn.Conv2d(3, 24, 2), nn.GELU(), *group(24, 64), *group(64, 256), *group(256, 256),
                         nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(256, classes, bias=False), Scale())


NETS = {"inception": (inception, (3, 28, 28), 10), "resnet": (resnet, (3, 28, 28), 10), "vgg": (vgg, (3, 224, 224), 1000),
        "fast": (fast, (3, 32, 32), 10)}


def make(name, options, shape, classes):
    """Returns the net, the shape of its pictures and its classes; None: its own."""
    build, own_shape, own_classes = NETS[name]
    if name == "resnet" and (shape or (0, 224 if int(options.get("layers", 20)) in (18, 34, 50, 101) else 28))[1] > 28:
        own_shape, own_classes = (3, 224, 224), 1000
    shape, classes = shape or own_shape, classes or own_classes
    return build(options, shape[1], classes), shape, classes
