"""Every example does what its README says."""
from lib import *


def metric(out, name):
    values = [line.split("=")[-1].strip() for line in out.splitlines() if line.startswith(name)]
    check(values, f"no line {name!r} in:\n{out[-1500:]}")
    return float(values[-1])


def quickstart_mlp(folder):
    out = tlmc("run", "quickstart_mlp.tlm", "--", "--seed", "2026", cwd=EXAMPLES + "/quickstart_mlp").ok().out
    equal(metric(out, "mean_loss(after)"), 0.003234, "mean loss")
    run([sys.executable, EXAMPLES + "/quickstart_mlp/make_grid25.py", folder + "/grid25.csv"]).ok()
    equal(open(folder + "/grid25.csv").read(), open(EXAMPLES + "/quickstart_mlp/grid25.csv").read(), "grid25.csv")


def digits_mlp(folder):
    program = build(example("digits_mlp"), folder + "/p")
    out = run([program, "--seed", "1"], cwd=EXAMPLES + "/digits_mlp").ok().out
    lines = [line for line in out.splitlines() if line.startswith("validate") and "accuracy=" in line]
    check(lines, f"no validation line in:\n{out[-1500:]}")
    accuracy = float(lines[-1].split("accuracy=")[1].split()[0])
    check(accuracy >= 0.97, f"held-out accuracy {accuracy}")
    check(lines[-1] in open(EXAMPLES + "/digits_mlp/README.md").read(), f"the README promises another line than {lines[-1]!r}")


def char_gpt(folder):
    program = build(example("char_gpt"), folder + "/p")
    cwd = EXAMPLES + "/char_gpt"
    out = run([program, "--seed", "1", "--save", folder + "/w.safetensors"], cwd=cwd).ok().out
    steps = [float(line.split("loss=")[1].split()[0]) for line in out.splitlines() if line.startswith("step ")]
    check(steps[-1] < 2.6, f"training loss {steps}: the text's unigram entropy is 3.12 nats")
    held = [float(line.split("loss=")[1].split()[0]) for line in out.splitlines() if line.startswith("validate")]
    check(held and held[-1] < 2.8, f"validation loss {held}")
    last = [line for line in out.splitlines() if line.startswith("validate")][-1]
    check(last in open(cwd + "/README.md").read(), f"the README promises another line than {last!r}")
    text = run([program, "--load", folder + "/w.safetensors", "--generate", "--prompt", "We the People", "--tokens", "80"], cwd=cwd).ok().out
    check("We the People" in text and len(text) > 80, f"generated text: {text!r}")
    again = run([program, "--load", folder + "/w.safetensors", "--generate", "--prompt", "We the People", "--tokens", "80"], cwd=cwd).ok().out
    equal(again, text, "the same seed writes the same text")


def gpt2(folder):
    small = "C=32 L=2 heads=2 vocab=100 ctx=16 T=8 train.batch=2".split()
    options = [x for d in small for x in ("-D", d)]
    run([sys.executable, EXAMPLES + "/gpt2/make_tokens.py", folder + "/tokens.npy"]).ok()
    program = build(example("gpt2"), folder + "/p", *options)
    out = run([program, "--steps", "1", "--save", folder + "/w.safetensors"], cwd=folder).ok().out
    check("step 0: loss=4.625401" in out and "step 0: loss=4.625401" in open(EXAMPLES + "/gpt2/README.md").read(), out)
    keys = weights(folder + "/w.safetensors")
    check("transformer.h.1.attn.c_attn.weight" in keys and "transformer.wte.weight" in keys, f"keys {sorted(keys)[:5]}")
    # the published names lack the prefix: the clause maps them
    own = {k: v for k, v in keys.items() if not k.startswith("tlm.")}
    write_safetensors(folder + "/hub.safetensors", {**{k.replace("transformer.", "", 1): v for k, v in own.items()},
                                                    "h.0.attn.bias": ("F32", [1], bytes(4))})
    run([program, "--steps", "0", "--pretrained", folder + "/hub.safetensors", "--save", folder + "/again.safetensors"], cwd=folder).ok()
    again = weights(folder + "/again.safetensors")
    for key in own:
        check(again[key] == own[key], f"'{key}' differs after --pretrained")
    tlmc("plan", example("gpt2")).ok()
    tlmc("emit", example("gpt2"), "-o", folder + "/full").ok()


main(quickstart_mlp, digits_mlp, char_gpt, gpt2)
