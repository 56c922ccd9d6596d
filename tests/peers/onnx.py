# onnx - what onnxruntime makes of models that we wrote.
#
#	python3 tests/peers/onnx.py FOLDER...
#
# Reads net.onnx and x.f32 [4,C,H,W] of each folder, looks whether the model is sound, and writes logits.f32 [4,classes].
# Prints how far, at most, one picture alone is from the same one among four.
import os
import sys

sys.path.pop(0)  # this file has the name of a module that it needs
import numpy as np
import onnx
import onnxruntime


def run(folder):
    path = os.path.join(folder, "net.onnx")
    onnx.checker.check_model(path, full_check=True)
    # PadFusion of onnxruntime 1.31 makes pads of a pool, before it, larger than its kernel, and then refuses them.
    run = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"], disabled_optimizers=["PadFusion"])
    (given,), (made,) = run.get_inputs(), run.get_outputs()
    assert given.name == "data" and given.shape[0] == "N", given
    x = np.fromfile(os.path.join(folder, "x.f32"), "<f4").reshape([4] + given.shape[1:])
    (y,) = run.run([made.name], {"data": x})
    (one,) = run.run([made.name], {"data": x[2:3]})
    alone = float(np.linalg.norm(one[0] - y[2]) / np.linalg.norm(y[2]))
    if made.name == "probabilities":
        assert abs(y.sum(axis=1) - 1).max() < 1e-5
        y = np.log(y)
    y.astype("<f4").tofile(os.path.join(folder, "logits.f32"))
    return alone


print("alone", max(run(folder) for folder in sys.argv[1:]))
