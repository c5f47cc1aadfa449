"""Whole programs on the GPU against the same model on the CPU: the bytes of losses, gradients, weights, states and outputs
are equal, with the captured graph and without; with cuBLAS they lie within its bound; a bad index is reported in the
same words; the product of `tlmc build` with the default architectures trains to the same checkpoint."""
import struct

from gpu import *

SMALL_GPT2 = ["-D", "T=16", "-D", "C=64", "-D", "heads=4", "-D", "L=2", "-D", "vocab=100", "-D", "ctx=32"]
MODELS = {  # options, steps
    "quickstart_mlp": ([], 30),
    "digits_mlp": ([], 9),
    "char_gpt": (["-D", "T=24", "-D", "C=32", "-D", "train.batch=3"], 5),
    "gpt2": (SMALL_GPT2, 3),
}
if SHORT:
    MODELS = {"quickstart_mlp": MODELS["quickstart_mlp"]}
VENDOR = [name for name in MODELS if name != "char_gpt"]
programs = {}


def program(*key):
    made = programs[key]
    if isinstance(made, Failure):
        raise made
    return made


def dumped(made, tag, steps, *words):
    path = os.path.join(WORK, tag + ".dump")
    command([made, path, steps, *words])
    with open(path, "rb") as f:
        return f.read()


def parts(data):
    """[(what, name, bytes)] of a dump."""
    at, found = 0, []
    while at < len(data):
        end = data.index(b"\n", at)
        what, name, size = data[at:end].decode().split(" ")
        found.append((what, name, data[end + 1:end + 1 + int(size)]))
        at = end + 2 + int(size)
    return found


def first_difference(got, want):
    """Where two dumps differ, in words; None when they are equal."""
    if got == want:
        return None
    a, b = parts(got), parts(want)
    if [p[:2] for p in a] != [p[:2] for p in b]:
        return "they hold different things"
    for n, ((what, name, x), (_, _, y)) in enumerate(zip(a, b)):
        if x != y:
            words = [i for i in range(0, len(x) - 3, 4) if x[i:i + 4] != y[i:i + 4]]
            at = words[0] if words else 0
            return (f"part {n}, {what} {name}: {len(words)} of {len(x) // 4} elements, the first at {at // 4}: "
                    f"{x[at:at + 4].hex()} instead of {y[at:at + 4].hex()}")
    return "their lengths differ"


def same_bits(name):
    options, steps = MODELS[name]
    want = dumped(program(name, "cpu"), f"{name}-cpu", steps)
    for word in ("graph", "no-graph"):
        got = dumped(program(name, "cuda"), f"{name}-{word}", steps, *([word] if word == "no-graph" else []))
        difference = first_difference(got, want)
        check(difference is None, f"{name}, {word}: {difference}")
    return f"{steps} steps, {len(parts(want))} tensors, {len(want)} bytes, twice"


# Two orders of summing K products differ by at most 2 K 2^-24 of the sum of their magnitudes; no product here is longer
# than 512, which makes 6.1e-5.  Relative to the largest element of the tensor, two such layers behind each other.
# Gradients are those of the second step: in the update before it, elements with a gradient near zero may go either way
# by the whole rate.
VENDOR_BOUNDS = {"output": 1.3e-4, "loss": 1.3e-4, "gradient": 1e-2}


def distance(x, y):
    """The largest difference of two tensors of float32, relative to the largest element."""
    a, b = (struct.unpack(f"<{len(v) // 4}f", v) for v in (x, y))
    off = max((abs(p - q) for p, q in zip(a, b)), default=0.0)
    return off / max(max(map(abs, b), default=0.0), 1e-30)


def near(name):
    worst = dict.fromkeys(VENDOR_BOUNDS, 0.0)
    for steps, kinds in ((0, ("output", "loss")), (2, ("gradient",))):
        want = parts(dumped(program(name, "cpu"), f"{name}-want", steps))
        got = parts(dumped(program(name, "vendor"), f"{name}-vendor", steps))
        check([p[:2] for p in got] == [p[:2] for p in want], f"{name}: the dumps hold different things")
        for (what, key, x), (_, _, y) in zip(got, want):
            if what not in kinds or len(x) % 4:
                continue
            off = distance(x, y)
            check(off <= VENDOR_BOUNDS[what], f"{name}, {what} {key}: off by {off:.2e} of the largest element, allowed {VENDOR_BOUNDS[what]:.1e}")
            worst[what] = max(worst[what], off)
    return ", ".join(f"{what} within {worst[what]:.1e} of {bound:.1e}" for what, bound in VENDOR_BOUNDS.items())


def index_error():
    """A token outside of the vocabulary: exit status 1 and the CPU's message."""
    bad = os.path.join(WORK, "bad.npy")
    header = "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 16), }"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(bad, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<16i", *[3] * 9, 100, *[3] * 6))
    messages = []
    for device in ("cpu", "cuda"):
        p = command([program("gpt2", device, "product"), "--infer", "--input", f"ids={bad}", "--seed", "1"], status=None)
        check(p.returncode == 1, f"{device}: ended with {p.returncode}, wanted 1: {p.stderr[-500:]}")
        messages.append(p.stderr.split("\n")[0].split(": ", 1)[-1])
    check(messages[0] == messages[1] and "out of range" in messages[0], f"cpu: {messages[0]}; cuda: {messages[1]}")
    return messages[1]


def products():
    """The program that `tlmc build --device cuda` makes trains to the checkpoint of the CPU's."""
    name, saved = "quickstart_mlp", []
    for device in ("cpu", "cuda"):
        path = os.path.join(WORK, f"{name}-{device}.safetensors")
        command([program(name, device, "product"), "--seed", "2026", "--save", path], cwd=os.path.join(EXAMPLES, name))
        with open(path, "rb") as f:
            data = f.read()
        saved.append(data[8 + struct.unpack("<Q", data[:8])[0]:])
    check(saved[0] == saved[1], "the checkpoints differ")
    return f"{len(saved[0])} bytes of tensors"


def build_all():
    jobs = {}
    for name, (options, _) in MODELS.items():
        jobs[name, "cpu"] = lambda n=name, o=options: build(example(n), n + "-cpu", o, cuda=False)
        jobs[name, "cuda"] = lambda n=name, o=options: build(example(n), n + "-cuda", o)
    for name in VENDOR:
        jobs[name, "vendor"] = lambda n=name: build(example(n), n + "-vendor", MODELS[n][0], profile="vendor_cuda")
    for name, options in (("gpt2", SMALL_GPT2), ("quickstart_mlp", [])):
        if name in MODELS:
            jobs[name, "cpu", "product"] = lambda n=name, o=options: product(example(n), n + "-cpu-product", o, cuda=False)
            jobs[name, "cuda", "product"] = lambda n=name, o=options: product(example(n), n + "-product", o)
    programs.update(parallel(jobs))
    failed = [f"{' '.join(k)}: {v}" for k, v in programs.items() if isinstance(v, Failure)]
    check(not failed, "\n".join(failed))
    return f"{len(jobs)} programs"


def named(function, name):
    def test():
        return function(name)
    test.__name__ = f"{function.__name__}/{name}"
    return test


tests = [build_all] + [named(same_bits, name) for name in MODELS] + [named(near, name) for name in VENDOR] + [products]
main(*tests, *([] if SHORT else [index_error]))
