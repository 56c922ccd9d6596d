# names - torchvision's nets under their own names, to us and back; MXNet's lists, to us and back.
#
#	python3 tests/peers/names.py torch NET FOLDER	FOLDER gets theirs.safetensors, x.f32 and logits.f32
#	python3 tests/peers/names.py back NET FOLDER	whether back.safetensors is theirs.safetensors, and NET takes it
#	python3 tests/peers/names.py write FOLDER	FOLDER gets theirs.params, of several types (MXNet)
#	python3 tests/peers/names.py read FOLDER	whether back.params is theirs.params, and ours.params as numpy has it
import sys

import numpy as np

verb, folder = sys.argv[1], sys.argv[-1]


def model(name):
    import torch
    import torchvision

    torch.manual_seed(7)
    plain = {"aux_logits": False, "init_weights": False} if name == "googlenet" else {}
    net = getattr(torchvision.models, name)(weights=None, **plain).eval()
    for m in net.modules():
        if isinstance(m, torch.nn.BatchNorm2d):
            for p, lo, hi in (m.weight, 0.5, 1.5), (m.bias, -0.5, 0.5), (m.running_mean, -0.3, 0.3), (m.running_var, 0.7, 1.4):
                torch.nn.init.uniform_(p, lo, hi)
    return torch, net


def torch_writes(name):
    torch, net = model(name)
    from safetensors.torch import save_file

    x = torch.randn(4, 3, 224, 224)
    last = [m for m in net.modules() if isinstance(m, torch.nn.Linear)][-1]
    with torch.no_grad():
        last.weight /= net(x).std()  # scores of about 1: the test reads them off the logarithms of probabilities
        save_file(net.state_dict(), f"{folder}/theirs.safetensors")
        net(x).numpy().tofile(f"{folder}/logits.f32")
    x.numpy().tofile(f"{folder}/x.f32")


def torch_reads(name):
    torch, net = model(name)
    from safetensors.torch import load_file

    theirs, back = load_file(f"{folder}/theirs.safetensors"), load_file(f"{folder}/back.safetensors")
    net.load_state_dict(back)
    named = {k for k in theirs if not k.endswith("num_batches_tracked")}
    assert named == set(back), named ^ set(back)
    assert all(torch.equal(theirs[k], back[k]) for k in named)
    print(len(named))


def mxnet_writes():
    import mxnet as mx

    rng = np.random.RandomState(3)
    arrays = {"arg:a": rng.randn(3, 4).astype("f"), "arg:h": rng.randn(5).astype("float16"), "arg:d": rng.randn(2, 2),
              "aux:i": np.arange(6, dtype="int32").reshape(1, 2, 3), "arg:u": np.arange(4, dtype="uint8")}
    mx.nd.save(f"{folder}/theirs.params", {k: mx.nd.array(v, dtype=v.dtype) for k, v in arrays.items()})


def mxnet_reads():
    import mxnet as mx

    theirs, back = (mx.nd.load(f"{folder}/{k}.params") for k in ("theirs", "back"))
    assert {k[4:] for k in theirs} == {k[4:] for k in back}, (theirs, back)
    for k, v in theirs.items():
        ours = back.get(k, back.get("arg:" + k[4:])).asnumpy()
        assert ours.dtype == v.dtype and ours.shape == v.shape and (ours == v.asnumpy()).all(), k
    ours = mx.nd.load(f"{folder}/ours.params")
    assert all(k[:4] in ("arg:", "aux:") for k in ours)
    print(len(ours), float(sum(np.abs(v.asnumpy()).sum() for v in ours.values())) > 0)


{"torch": lambda: torch_writes(sys.argv[2]), "back": lambda: torch_reads(sys.argv[2]), "write": mxnet_writes,
 "read": mxnet_reads}[verb]()
