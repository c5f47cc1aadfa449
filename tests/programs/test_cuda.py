"""Whole CUDA programs without a GPU: losses, gradients, weights and outputs have the bits of the CPU's.

Each model is trained some steps, evaluated and run for inference, on the CPU and on every host layer: eager, deferred
with several seeds, as a captured graph and kernel by kernel, threads in order, reversed and at random.
"""
import os

import cuda
import lib
from lib import check, equal, main, run

# name, dims that keep it small, steps, the layers that are worth their time
MODELS = [
    ("quickstart_mlp", [], 7, ["plain", "checked", "ptx"]),
    ("digits_mlp", ["-D", "batch=4"], 4, ["plain", "checked", "ptx"]),
    ("char_gpt", ["-D", "T=12", "-D", "L=1"], 2, ["plain", "checked"]),
    ("gpt2", ["-D", "T=8", "-D", "C=32", "-D", "heads=2", "-D", "L=1", "-D", "vocab=50", "-D", "ctx=8",
              "-D", "train.batch=2"], 2, ["plain", "checked", "ptx"]),
]

# of the environment, and as argument of the program
RUNS = {
    "plain": [({}, []), ({}, ["no-graph"]), ({"TLM_HOST_SCHEDULE": "reversed"}, []),
              ({"TLM_HOST_SCHEDULE": "random:3"}, []), ({"TLM_HOST_DEFER": "1"}, []), ({"TLM_HOST_DEFER": "2"}, []),
              ({"TLM_HOST_DEFER": "3"}, ["no-graph"]), ({"TLM_HOST_GUARD": "1"}, [])],
    "checked": [({}, ["no-graph"]), ({"TLM_HOST_SCHEDULE": "random:5"}, [])],
    "ptx": [({"TLM_HOST_CC": "90"}, [])],
}


def kept_images(folder, name, dims):
    """What NVRTC makes of the model: its PTX is what a device of another major version gets."""
    kept = os.path.join(folder, "kept")
    lib.tlmc("build", lib.example(name), "--device", "cuda", "--arch", "80", *dims, "--keep", kept, "-o",
             os.path.join(folder, "product")).ok()
    return os.path.join(kept, name + "_images.c")


def compare(folder, name, dims, steps, wanted):
    on_cpu = cuda.emit(lib.example(name), os.path.join(folder, "cpu"), *dims)
    on_cuda = cuda.emit(lib.example(name), os.path.join(folder, "cuda"), "--device", "cuda", *dims)
    want, got = os.path.join(folder, "want"), os.path.join(folder, "got")
    run([cuda.cpu_program(on_cpu, name), want, steps]).ok()
    for layer in wanted:
        if layer not in cuda.layers() or layer == "ptx" and not cuda.has_nvrtc():
            print(f"{name}: no layer {layer} in this build")
            continue
        images = kept_images(folder, name, dims) if layer == "ptx" else None
        program = cuda.host_program(on_cuda, name, layer, images=images)
        for env, options in RUNS[layer]:
            result = run([program, got, steps, *options], env=env).ok()
            check("cuda-host: " not in result.err.replace("cuda-host: leak", ""), f"{name} {layer}: {result.err[:2000]}")
            size = cuda.same_bytes(want, got, f"{name} on {layer} {env} {options}")
            os.remove(got)
        print(f"{name} on {layer}: {size} bytes equal in {len(RUNS[layer])} runs")


def model_test(name, dims, steps, wanted):
    def test(folder):
        compare(folder, name, dims, steps, wanted)

    test.__name__ = name
    return test


def oracle(folder):
    """The text of the quickstart's run, through the shell, is the CPU's; and so is its checkpoint."""
    cpu = lib.build(lib.example("quickstart_mlp"), os.path.join(folder, "quickstart"))
    program = cuda.quickstart_host(folder, "plain", None)
    where = os.path.join(lib.EXAMPLES, "quickstart_mlp")
    for options in (["--seed", "2026"], ["--seed", "0", "--steps", "20", "--no-graph"]):
        saved = [os.path.join(folder, "cpu.safetensors"), os.path.join(folder, "cuda.safetensors")]
        texts = [run([p, *options, "--save", s], cwd=where).ok().out for p, s in zip([cpu, program], saved)]
        equal(texts[1], texts[0].replace("cpu (profile checked_cpu)", "cuda (profile checked_cuda)"), f"text of {options}")
        cuda.same_bytes(*saved, f"checkpoint of {options}")
    check("mean_loss(after) = 0.003234" in run([program, "--seed", "2026"], cwd=where).ok().out, "the oracle's loss")


def index_error(folder):
    """An index out of range is found by the device and told as the CPU tells it; nothing is trained."""
    dims = MODELS[3][1]
    cuda.emit(lib.example("gpt2"), folder, "--device", "cuda", *dims)
    program = cuda.host_program(folder, "gpt2", "plain", None)
    cpu = lib.build(lib.example("gpt2"), os.path.join(folder, "gpt2_cpu"), *dims)
    ids = os.path.join(folder, "ids.npy")
    lib.write_npy(ids, "<i4", (1, 8), [1, 2, 3, 49, 50, 5, 6, 7])
    told = [run([p, "--infer", "--input", f"ids={ids}"]).fails(1, "index 50 at position 4", "out of range 0..49").err
            .split("cuda-host:")[0] for p in (cpu, program)]
    equal(told[1], told[0], "the message")


def one_launch_a_group(folder):
    """The optimizer's update of all parameters: a launch for each of its groups."""
    cuda.emit(lib.example("gpt2"), folder, "--device", "cuda", "-D", "L=2")
    with open(os.path.join(folder, "gpt2.c")) as f:
        equal(f.read().count("TLM_LAUNCH(m, run_adamw_update"), 2, "launches of the update")


cuda.layers()
main(*[model_test(*row) for row in MODELS], oracle, index_error, one_launch_a_group)
