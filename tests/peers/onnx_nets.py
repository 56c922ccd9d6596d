# onnx_nets - nets of random layers, for onnx.t: python3 tests/peers/onnx_nets.py N writes 0.lua, 1.lua ... here.
import random
import sys


def pair(r, lo, hi):
    return "{%d, %d}" % (r.randint(lo, hi), r.randint(lo, hi)) if r.random() < 0.6 else str(r.randint(lo, hi))


def act(r):
    return r.choice(["relu(x)", "tanh(x)", "sigmoid(x)", "gelu(x)", "gelu_tanh(x)", "swish(x)",
                     "leaky{x, alpha = %g}" % r.choice([0.01, 0.3, 1.5, -0.2]), "elu{x, alpha = %g}" % r.choice([1, 0.5, 2]),
                     "scale{x, alpha = %g}" % r.choice([0.5, -1, 0.125])])


def conv(r):
    return "x = conv{x.c %% 2 == 1 and concat{x, x} or x, %d, kernel = {math.min(%d, x.h), math.min(%d, x.w)}, stride = %s, " \
        "pad = %s, groups = %d, bias = %s}" % (2 * r.randint(1, 4), r.randint(1, 4), r.randint(1, 4), pair(r, 1, 3), pair(r, 0, 2),
                                                r.choice([1, 1, 2]), r.choice(["true", "false"]))


def pool(r):
    a, b = r.randint(1, 4), r.randint(1, 4)
    p, q = r.randint(0, a - 1), r.randint(0, b - 1)
    kind = r.choice(["max", "avg"])
    divide = ', divide = "%s"' % r.choice(["window", "padded", "inside"]) if kind == "avg" else ""
    return "if x.h + %d >= %d and x.w + %d >= %d then x = %spool{x, kernel = {%d, %d}, stride = %s, pad = {%d, %d}, ceil = %s%s} end" % (
        2 * p, a, 2 * q, b, kind, a, b, pair(r, 1, 4), p, q, r.choice(["true", "false"]), divide)


def full(r):
    return "do local f = fc{x, %d}; x = %s end" % (
        r.randint(2, 8), r.choice(["relu(f)", "add{f, tanh(f)}", "f", "bn(f)", "concat{f, conv{f, 3, kernel = 1}}", "flatten(f)"]))


LAYERS = [conv, conv, pool, pool, pool, full,
          lambda r: "x = " + act(r),
          lambda r: "x = bn{x, eps = %g, fix_gamma = %s}" % (r.choice([1e-5, 1e-3, 0.1]), r.choice(["true", "false"])),
          lambda r: "x = lrn{x, size = %d, alpha = %g, power = %g, knorm = %d}" % (
              r.choice([1, 3, 5, 7]), r.choice([1e-4, 0.5]), r.choice([0.75, 0.5]), r.choice([1, 2])),
          lambda r: "if x.h > 2 and x.w > 2 then x = pad{x, %s, reflect = %s} end" % (pair(r, 0, 2), r.choice(["true", "false"])),
          lambda r: "x = concat{x, %s, x}" % act(r), lambda r: "x = add{x, %s, x}" % act(r), lambda r: "x = dropout{x, 0.3}"]

for k in range(int(sys.argv[1])):
    r = random.Random(k)
    lines = ["-- %d - layers by chance." % k, "local x = data(%d, %d, %d)" % (r.choice([1, 2, 4, 6]), r.randint(5, 14), r.randint(5, 14))]
    lines += [r.choice(LAYERS)(r) for _ in range(r.randint(3, 9))]
    lines.append(r.choice(["return softmax(fc{x, 5})", "return softmax(flatten(conv{x, 5, kernel = {x.h, x.w}}))"]))
    with open("%d.lua" % k, "w") as f:
        f.write("\n".join(lines) + "\n")
