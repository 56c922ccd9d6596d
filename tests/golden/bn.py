# bn - batch norm by PyTorch in f64 or by MXNet, as the C tables of bn_torch.h and bn_mxnet.h.  Run by hand, once:
#
#	python3 tests/golden/bn.py >tests/golden/bn_torch.h			with PyTorch
#	python3 tests/golden/bn.py mxnet >tests/golden/bn_mxnet.h		with MXNet 1.9.1, where gamma is fixed
#
# data -> a convolution of 5x5 for each channel, which is the identity -> batch norm -> fc -> softmax of two classes, the
# weights of which are small numbers that are functions of their place.  Two batches go in one after the other, and the
# running statistics after both are told; the rest is of the first: the loss, the gradient of the fc's weight of class 0,
# which tells what came out of batch norm, the gradient of the convolution's, which tells what goes back, and those of gamma
# and beta; and, by PyTorch, the probabilities of the classes by the first running statistics.
import random
import sys
import textwrap

N, C, H, W, K, FRONT = 2, 4, 5, 4, 2, 5
EPS, MOMENTUM = 0.03125, 0.75
random.seed(7)
x = [[random.randint(-16, 16) / 8 + (0 if i % 80 < 60 else 4) for i in range(N * C * H * W)] for _ in range(2)]
label = [1, 0]
first = [((j * j + 1) % 11) / 64 for j in range(K * C * H * W)]
gamma, beta = [0.5, 1.25, -0.75, 2], [0.25, -0.5, 0, 1]
mean, var = [0.5, -0.25, 0, 3], [0.5, 1.5, 2, 0.75]


def table(name, v):
    text = ", ".join(a if set(a) & set(".e") else a + ".0" for a in (f"{float(a):.8g}" for a in v))
    print(f"static const float {name}[] = {{")
    print("\n".join("\t" + line for line in textwrap.wrap(text, 110, break_on_hyphens=False)))
    print("};\n")


def torch_tables():
    import torch
    from torch.nn import functional as F

    front = torch.nn.init.dirac_(torch.empty(C, 1, FRONT, FRONT).double(), groups=C).requires_grad_()
    bn = torch.nn.BatchNorm2d(C, EPS, 1 - MOMENTUM).double()
    fc = torch.tensor(first).double().reshape(K, C * H * W).requires_grad_()
    with torch.no_grad():
        for to, v in ((bn.weight, gamma), (bn.bias, beta), (bn.running_mean, mean), (bn.running_var, var)):
            to.copy_(torch.tensor(v))

    def scores(v):
        v = torch.tensor(v).double().reshape(N, C, H, W)
        return F.linear(bn(F.conv2d(v, front, groups=C, padding=FRONT // 2)).flatten(1), fc)

    bn.eval()
    table("bn_torch_prob", scores(x[0]).softmax(1).detach().flatten())
    bn.train()
    loss = F.cross_entropy(scores(x[0]), torch.tensor(label), reduction="sum")
    loss.backward()
    scores(x[1])
    return loss.item(), fc.grad[0], front.grad, bn.weight.grad, bn.bias.grad, bn.running_mean, bn.running_var


def mxnet_tables():
    import mxnet as mx
    from mxnet import nd

    def array(v, *shape):
        return nd.array(v, dtype="float64").reshape(shape)

    front = nd.zeros((C, 1, FRONT, FRONT), dtype="float64")
    front[:, 0, FRONT // 2, FRONT // 2] = 1
    w = [front, array(gamma, C), array(beta, C), array(first, K, C * H * W)]
    aux = [array(mean, C), array(var, C)]
    for v in w:
        v.attach_grad()
    told = []
    for v in x:
        with mx.autograd.record():
            y = nd.Convolution(array(v, N, C, H, W), w[0], kernel=(FRONT, FRONT), pad=(FRONT // 2, FRONT // 2), num_filter=C,
                               num_group=C, no_bias=True)
            y = nd.BatchNorm(y, w[1], w[2], *aux, eps=EPS, momentum=MOMENTUM, fix_gamma=True)
            p = nd.log_softmax(nd.FullyConnected(y, w[3], num_hidden=K, no_bias=True))
            loss = -nd.pick(p, nd.array(label, dtype="float64")).sum()
        loss.backward()
        told.append([loss.asscalar(), w[3].grad[0], w[0].grad, w[1].grad, w[2].grad])
        told[-1] = [told[-1][0]] + [g.asnumpy().copy() for g in told[-1][1:]]
    return (*told[0], aux[0].asnumpy(), aux[1].asnumpy())


by = "mxnet" if "mxnet" in sys.argv[1:] else "torch"
print(f"/* bn_{by} - batch norm by {'MXNet, gamma fixed' if by == 'mxnet' else 'PyTorch'}, made by bn.py. */")
print(f"#ifndef TESTS_GOLDEN_BN_{by.upper()}_H\n#define TESTS_GOLDEN_BN_{by.upper()}_H\n")
if by == "torch":
    print("#include <stdint.h>\n")
    print(f"enum {{ BN_N = {N}, BN_C = {C}, BN_H = {H}, BN_W = {W}, BN_K = {K}, BN_FRONT = {FRONT} }};")
    print(f"#define BN_EPS {EPS}f\n#define BN_MOMENTUM {MOMENTUM}f\n\nstatic const int32_t bn_label[] = {{ 1, 0 }};")
    for name, v in (("x", x[0]), ("x2", x[1]), ("gamma", gamma), ("beta", beta), ("mean", mean), ("var", var)):
        table(f"bn_{name}", v)
loss, *tables = torch_tables() if by == "torch" else mxnet_tables()
print(f"static const double bn_{by}_loss = {float(loss):.12g};")
for name, v in zip(("out", "back", "dgamma", "dbeta", "mean", "var"), tables):
    table(f"bn_{by}_{name}", v.flatten())
print("#endif")
