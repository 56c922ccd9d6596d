# merge - files of tensors as PyTorch, MXNet and the safetensors package write them, and whether they read what we made of them.
#
#	python3 tests/peers/merge.py write FOLDER	FOLDER gets a, b and c.safetensors, of every type, shape and kind of name
#	python3 tests/peers/merge.py read FOLDER	whether mean.safetensors and ema.safetensors are theirs, weighted.safetensors too
#	python3 tests/peers/merge.py gluon FOLDER	FOLDER gets a.params and b.params of a net of Gluon's (MXNet)
#	python3 tests/peers/merge.py load FOLDER	whether that net takes mean.params, and it is theirs (MXNet)
#	python3 tests/peers/merge.py lists FOLDER	FOLDER gets all.params, of every type of MXNet 1.9; listed: whether back.params, through
#							safetensors, and as-it-was.params are the same (MXNet)
#	python3 tests/peers/merge.py sparse FOLDER	FOLDER gets row.params and csr.params (MXNet)
#	python3 tests/peers/merge.py bn FOLDER		FOLDER gets theirs.safetensors of resnet18 and 40 pictures, list.lst
#	python3 tests/peers/merge.py updated FOLDER	whether new.safetensors has the statistics of those pictures in batches of 8
import sys

import numpy as np

verb, folder = sys.argv[1:]
DECAY, WEIGHTS = 0.9, [1, 2, 5]


def tensors(torch, seed):
    torch.manual_seed(seed)
    rand, whole = torch.randn, torch.arange
    t = {"f32": rand(3, 5), "f64": rand(7, dtype=torch.float64), "f16": rand(2, 3).half(), "bf16": rand(9).bfloat16(),
         "large": rand(70001), "empty": rand(0), "none": rand(3, 0, 2), "scalar": rand(()), "eight": rand(1, 1, 2, 1, 1, 1, 1, 2),
         "n" * 1000: rand(2), "größe/日本.weight": rand(2), 'a "b" \\ c\td': rand(3), "a=b": rand(1), "": rand(2),
         "x.bn.running_mean": rand(4), "x.bn.running_var": rand(4) ** 2, "x.bn.num_batches_tracked": torch.tensor(7)}
    for k in "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64":
        t[k] = whole(6).to(getattr(torch, k)).reshape(2, 3)
    t["bool"] = torch.tensor([True, False, True])
    return t


def write():
    import torch
    from safetensors.torch import save_file

    for i, f in enumerate("abc"):
        save_file(tensors(torch, i), f"{folder}/{f}.safetensors", {"format": "pt", "note": 'ü "x"'})


def read():
    import torch
    from safetensors import safe_open
    from safetensors.torch import load_file

    files = [tensors(torch, i) for i in range(3)]
    for name, shares in (("mean", [1, 1, 1]), ("weighted", WEIGHTS), ("ema", [DECAY**2, DECAY * (1 - DECAY), 1 - DECAY])):
        got = load_file(f"{folder}/{name}.safetensors")
        assert set(got) == set(files[0]), set(got) ^ set(files[0])
        mean = lambda k: sum(s * f[k].double() for s, f in zip(shares, files)) / sum(shares)
        for k, v in got.items():
            of = files[0][k]
            assert v.dtype == of.dtype and v.shape == of.shape, k
            if not of.is_floating_point():
                assert torch.equal(v, of), k
                continue
            want = mean(k)
            if k.endswith("running_var"):
                m = k.replace("_var", "_mean")
                want += sum(s * (f[m].double() - mean(m)) ** 2 for s, f in zip(shares, files)) / sum(shares)
            ulp = {torch.float64: 1e-15, torch.float32: 1.2e-7, torch.float16: 1e-3, torch.bfloat16: 8e-3}[of.dtype]
            assert ((v.double() - want).abs() <= ulp * want.abs() / 2 + 1e-15).all() if of.numel() else True, (name, k)
        with safe_open(f"{folder}/{name}.safetensors", "pt") as f:
            assert f.metadata() == {"format": "pt", "note": 'ü "x"'}, f.metadata()
    print(len(got))


def gluon_net():
    from mxnet.gluon import nn

    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, in_channels=3), nn.BatchNorm(in_channels=4), nn.Dense(5, in_units=16))
    net.initialize()
    return net


def gluon():
    import mxnet as mx

    for f in "ab":
        net = gluon_net()
        for p in net.collect_params().values():
            p.set_data(mx.nd.random.uniform(0.5, 1, shape=p.shape))
        net.save_parameters(f"{folder}/{f}.params")


def load():
    import mxnet as mx

    net = gluon_net()
    net.load_parameters(f"{folder}/mean.params")
    a, b = (mx.nd.load(f"{folder}/{f}.params") for f in "ab")
    got = mx.nd.load(f"{folder}/mean.params")
    assert set(got) == set(a), (set(got), set(a))
    for k, v in got.items():
        want = (a[k].asnumpy().astype("d") + b[k].asnumpy()) / 2
        if k.endswith("running_var"):
            m = k.replace("_var", "_mean")
            want += (a[m].asnumpy().astype("d") - b[m].asnumpy()) ** 2 / 4
        assert abs(v.asnumpy() - want).max() < 1e-7, k
    print(len(got))


def lists():
    import mxnet as mx

    rng = np.random.RandomState(3)
    t = {"arg:größe": rng.randn(3, 4).astype("f"), "w": rng.randn(2).astype("f"), "arg:h": rng.randn(5).astype("float16"),
         "arg:d": rng.randn(2, 2), "aux:bn_moving_mean": rng.randn(3).astype("f"), "arg:" + "n" * 1000: rng.randn(1).astype("f")}
    t.update({f"arg:{k}": np.arange(6).astype(k).reshape(1, 2, 3) for k in ("int8", "uint8", "int32", "int64", "bool")})
    if sys.argv[1] == "lists":
        mx.nd.save(f"{folder}/all.params", {k: mx.nd.array(v, dtype=v.dtype) for k, v in t.items()})
        return
    plain = lambda k: k[4:] if k[:4] in ("arg:", "aux:") else k
    t["arg:w"] = t.pop("w")
    for name in "back", "as-it-was":
        got = mx.nd.load(f"{folder}/{name}.params")
        assert {plain(k) for k in got} == {plain(k) for k in t}, got.keys()
        for k, v in got.items():
            want = t[k] if k in t else t["arg:" + k]
            assert v.dtype == want.dtype and v.shape == want.shape and (v.asnumpy() == want).all(), k
    assert "w" in got, got.keys()
    print(len(got))


def sparse():
    import mxnet as mx

    dense = mx.nd.array([[0, 1], [0, 0], [2, 0]])
    for kind, name in (("row_sparse", "row"), ("csr", "csr")):
        mx.nd.save(f"{folder}/{name}.params", {"arg:a": mx.nd.ones((2,)), "arg:b": dense.tostype(kind)})


def resnet(seed=7):
    import torch
    import torchvision

    torch.manual_seed(seed)
    return torch, torchvision.models.resnet18(weights=None, num_classes=10)


def bn():
    torch, net = resnet()
    from safetensors.torch import save_file
    from torchvision.io import write_png

    save_file({k: v.contiguous() for k, v in net.state_dict().items()}, f"{folder}/theirs.safetensors")
    with open(f"{folder}/list.lst", "w") as f:
        for i in range(40):
            p = torch.nn.functional.interpolate(torch.rand(1, 3, 4 + i % 5, 7), (64, 64), mode="bicubic")[0].clamp(0, 1)
            write_png((p * 255).byte(), f"{folder}/{i}.png")
            print(i, i % 10, f"{i}.png", sep="\t", file=f)


def updated():
    torch, net = resnet()
    from safetensors.torch import load_file
    from torchvision.io import read_image

    x = (torch.stack([read_image(f"{folder}/{i}.png") for i in range(40)]).double() - 127) / 64
    net, seen = net.double(), {}
    layers = {k: m for k, m in net.named_modules() if isinstance(m, torch.nn.BatchNorm2d)}
    for k, m in layers.items():
        m.register_forward_hook(lambda m, i, o, k=k: seen.setdefault(k, []).append(i[0].transpose(0, 1).flatten(1)))
    with torch.no_grad():
        torch.optim.swa_utils.update_bn(x.split(8), net)
    got, off = load_file(f"{folder}/new.safetensors"), [0, 0, 0]
    for k, m in layers.items():
        all_ = torch.cat(seen[k], 1)
        spread = torch.stack([b.mean(1) for b in seen[k]]).var(0, unbiased=False)
        n = seen[k][0].size(1)
        mean, var = got[f"{k}.running_mean"].double(), got[f"{k}.running_var"].double()
        away = lambda a, b: ((a - b).norm() / b.norm()).item()
        off[0] = max(off[0], away(mean, m.running_mean))
        off[1] = max(off[1], away(var, all_.var(1, unbiased=False)))
        off[2] = max(off[2], away((var - spread) * n / (n - 1), m.running_var))  # update_bn's: of batches' variances the mean
    print("statistics", *("%.3g" % o for o in off))


{"write": write, "read": read, "gluon": gluon, "load": load, "lists": lists, "listed": lists, "sparse": sparse, "bn": bn,
 "updated": updated}[verb]()
