"""Grouping moves no rounding point: a model planned with groups and the same one planned one node a step save equal bits.

Whole trained models, one a kind of group; each first makes sure that the one plan has such groups and the other has none.
"""
import random
from lib import *

SINGLE = """profile single_cpu { device cpu; assurance checked; vjp graph-vjp; lowering singleton; modules native-c;
  summary "native-c, one node a step"; }
"""

HEAD = """model g;
dim batch = 5;
input  x: f32[batch, 3];
target y: f32[batch, 1];
"""

TAIL = """
output pred;
loss   mse_loss(pred, y);
train {
  data "d.csv" { x = columns(0..3); y = columns(3); }
  optimizer %s
  %s
  steps 7;
}
"""

MODELS = {
    # chains, broadcasts of rows and columns, numbers, several results, a loop with gradients through every branch
    "pointwise": HEAD + """
h = linear(x, 7) as a;
param s: f32[7] = normal(std = 1.0);
param c: f32[batch, 1] = normal(std = 1.0);
u = gelu(h) * s + sigmoid(h) * c;
v = where(u > 0.25, exp(min(u, 1.0)) - 1.0, tanh(u) * 0.5);
w = softplus(v) / (abs(u) + 1.5) + max(v, h) - sqrt(v * v + 0.125);
k = softmax(w) * w + w;
pred = linear(k, 1) as b;
""" + TAIL % ("adam(lr = 0.01);", ""),
    # tensors of many sizes under one optimizer, two groups, clipping
    "updates": HEAD + """
h = tanh(linear(x, 17) as a);
h = tanh(linear(h, 64) as b);
h = layer_norm(h) as n;
pred = linear(h, 1) as c;
""" + TAIL % ('adamw(lr = 0.01, weight_decay = 0.1) { group "*.bias" { weight_decay = 0.0; } }', "clip norm(0.5);"),
    # products that read one, the other or both operands transposed, in batches too
    "transpose": HEAD + """
h = linear(x, 6) as a;
q = transpose(h, 0, 1) @ h;
r = transpose(q, 0, 1) @ transpose(q, 0, 1);
e = reshape(h, [batch, 2, 3]);
f = transpose(e, 1, 2) @ e;
g = e @ transpose(e, 1, 2);
k = (h @ r) * 0.01;
pred = (linear(k, 1) as b) + 0.01 * reduce_sum(f, axis = [1, 2])[0] + 0.01 * reduce_sum(g, axis = [1, 2])[1];
""" + TAIL % ("sgd(lr = 0.01, momentum = 0.9);", ""),
}

SEEN = {"pointwise": " pointwise(", "updates": " updates(", "transpose": "folded into matmul, transpose_a"}


def same_bits(kind, folder):
    model, module = folder + "/g.tlm", folder + "/single.capsules"
    open(model, "w").write(MODELS[kind])
    open(module, "w").write(SINGLE)
    rng = random.Random(5)
    open(folder + "/d.csv", "w").write("".join(",".join(f"{rng.uniform(-2, 2):.6f}" for _ in range(4)) + "\n" for _ in range(35)))
    single = ["--capsules", module, "--profile", "single_cpu"]
    grouped, alone = (tlmc("plan", model, "--steps", *options).ok().out for options in ([], single))
    check(SEEN[kind] in grouped, f"the plan has no {kind} group:\n{grouped}")
    check(SEEN[kind] not in alone, f"the singleton plan has a {kind} group:\n{alone}")
    saved = []
    for name, options in (("grouped", []), ("alone", single)):
        program = build(model, f"{folder}/{name}", *options)
        for threads in (1, 3):
            path = f"{folder}/{name}{threads}.safetensors"
            run([program, "--seed", "3", "--threads", threads, "--save", path], cwd=folder).ok()
            saved.append(weights(path))
    for other in saved[1:]:
        equal(sorted(other), sorted(saved[0]), "keys")
        for key in saved[0]:
            check(other[key] == saved[0][key], f"'{key}' differs with {kind} groups")


def pointwise(folder):
    same_bits("pointwise", folder)


def updates(folder):
    same_bits("updates", folder)


def transpose(folder):
    same_bits("transpose", folder)


main(pointwise, updates, transpose)
