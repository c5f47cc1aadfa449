"""Grouping moves no rounding point: a model planned with groups and the same one planned one node a step save equal bits."""
import json
import random
from lib import *

SINGLE = """profile single_cpu { device cpu; assurance checked; vjp graph-vjp; lowering singleton; modules native-c;
  summary "native-c, one node a step"; }
"""

# Chains, broadcasts of rows and columns, numbers, several results; products that read one, the other or both operands
# transposed, in batches too; tensors of many sizes under one optimizer, two groups, clipping.
MODEL = """model g;
dim batch = 5;
input  x: f32[batch, 3];
target y: f32[batch, 1];

h = linear(x, 6) as a;
param s: f32[6] = normal(std = 1.0);
param c: f32[batch, 1] = normal(std = 1.0);
u = gelu(h) * s + sigmoid(h) * c;
v = where(u > 0.25, exp(min(u, 1.0)) - 1.0, tanh(u) * 0.5);
w = softplus(v) / (abs(u) + 1.5) + max(v, h) - sqrt(v * v + 0.125);
k = layer_norm(softmax(w) * w + w) as n;

q = transpose(k, 0, 1) @ k;
r = transpose(q, 0, 1) @ transpose(q, 0, 1);
e = reshape(k, [batch, 2, 3]);
f = transpose(e, 1, 2) @ e;
z = reduce_sum(f, axis = [1, 2]);

pred = linear((k @ r) * 0.01 + k, 1) as b;
output pred;
loss   mse_loss(pred, y) + 0.001 * reduce_mean(z);

train {
  data "d.csv" { x = columns(0..3); y = columns(3); }
  optimizer adamw(lr = 0.01, weight_decay = 0.1) { group "*.bias" { weight_decay = 0.0; } }
  clip  norm(0.5);
  steps 7;
}
"""

SEEN = (" pointwise(", " updates(adamw_update, 8 tensors in 2 kinds)", "folded into matmul, transpose_a", "folded into matmul, transpose_b")


def same_bits(folder):
    model, module = folder + "/g.tlm", folder + "/single.capsules"
    open(model, "w").write(MODEL)
    open(module, "w").write(SINGLE)
    rng = random.Random(5)
    open(folder + "/d.csv", "w").write("".join(",".join(f"{rng.uniform(-2, 2):.6f}" for _ in range(4)) + "\n" for _ in range(35)))
    single = ["--capsules", module, "--profile", "single_cpu"]
    grouped, alone = (tlmc("plan", model, "--steps", *options).ok().out for options in ([], single))
    for text in SEEN:
        check(text in grouped, f"the plan has no {text!r}:\n{grouped}")
        check(text not in alone, f"the singleton plan has a {text!r}:\n{alone}")
    saved = []
    for name, options in (("grouped", []), ("alone", single)):
        program = build(model, f"{folder}/{name}", *options, cflags="-O1")
        for threads in (1, 3):
            path = f"{folder}/{name}{threads}.safetensors"
            run([program, "--seed", "3", "--threads", threads, "--save", path], cwd=folder).ok()
            saved.append(weights(path))
    for other in saved[1:]:
        equal(sorted(other), sorted(saved[0]), "keys")
        for key in saved[0]:
            check(other[key] == saved[0][key], f"'{key}' differs between the plans")


def kinds_in_json(folder):
    """The plan tells where the tensors of each optimizer group begin in their common step."""
    model = folder + "/g.tlm"
    open(model, "w").write(MODEL)
    plan = json.loads(tlmc("plan", model, "--format", "json").ok().out)
    form, = [f for f in plan["forms"] if f["mode"] == "train"]
    step, = [s for s in form["steps"] if s["kind"] == "updates"]
    are_biases = ["bias" in form["values"][form["nodes"][n]["inputs"][0]]["name"] for n in step["nodes"]]
    equal(are_biases, [True] * 3 + [False] * 5, "biases, then the others")
    equal(step["kinds"], [0, 3], "where the kinds begin")


main(same_bits, kinds_in_json)
