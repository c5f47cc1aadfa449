"""Emitted CUDA programs on this machine: linked with the host layers of tests/cuda_host in place of cudart and cuBLAS.

Each model is trained some steps, evaluated and run for inference on the CPU and on a layer, eager, deferred with several
seeds, as a captured graph and kernel by kernel, threads in order, reversed and at random; every number must have the same
bits.  One test file a layer (test_cuda*.py), so that a layer a build does not have is a skip that is counted.

Layers, as layers.json of the build folder describes them: plain (the shim; in a build with sanitizers it is called asan
here, and runs a part), checked (races, bounds, unwritten memory), ptx (the PTX that NVRTC emitted, interpreted).
"""
import json
import os
import struct

import lib
from lib import SOURCE, Failure, run, skip, tlmc

BUILD = os.environ["TLMC_BUILD"]
RUNTIME = os.path.join(SOURCE, "runtime")
DUMP = os.path.join(SOURCE, "tests/programs/dump_model.c")
CFLAGS = ["-std=c11", "-O1", "-g", "-ffp-contract=off", "-fno-math-errno"]


def layers():
    path = os.path.join(BUILD, "tests/cuda_host/layers.json")
    if not os.path.exists(path):
        skip("this build has no host layers for CUDA programs (CUDA headers and g++ are needed)")
    with open(path) as f:
        return json.load(f)


def has_nvrtc():
    """Can tlmc compile device code here?"""
    return tlmc("--version").out.find("CUDA toolkit: none") < 0


def emit(model, folder, *options):
    tlmc("emit", model, "-o", folder, *options).ok()
    return folder


def compile_c(sources, folder, *flags):
    objects = []
    for i, source in enumerate(sources):
        objects.append(os.path.join(folder, f"{i}_{os.path.basename(source)}.o"))
        run(["gcc", *CFLAGS, *flags, "-I", folder, "-I", RUNTIME, "-I", os.path.join(SOURCE, "kernels_cpu"),
             "-I", os.path.join(SOURCE, "kernels_cuda"), "-c", source, "-o", objects[-1]]).ok()
    return objects


def sources_of(folder, name, main):
    """The model, the table of its program, and what stands for the shell (None: libtlm's own)."""
    return [os.path.join(folder, name + ".c"), os.path.join(folder, name + "_main.c")] + ([main] if main else [])


def cpu_program(folder, name, main=DUMP):
    out = os.path.join(folder, name + "_cpu")
    objects = compile_c(sources_of(folder, name, main), folder)
    run(["gcc", *objects, os.path.join(BUILD, "runtime/libtlm.a"), *sanitizers(), "-lm", "-o", out]).ok()
    return out


def sanitizers():
    """libtlm of a sanitized build wants its runtime."""
    return [f for f in layers()["plain"]["link"] if f.startswith("-fsanitize")]


def write_host_image(folder, name):
    path = os.path.join(folder, name + "_images.c")
    with open(path, "w") as f:
        f.write(f'#include "tlm_cuda.h"\nstatic const char image[] = "TLM-CUDA-HOST";\n'
                f"const tlm_cuda_image {name}_images[] = {{ {{ TLM_CUDA_IMAGE_ANY, 0, image, sizeof image }} }};\n"
                f"const uint32_t {name}_image_count = 1;\n")
    return path


def host_program(folder, name, layer, main=DUMP, images=None):
    """The program over a host layer.  images: a NAME_images.c that tlmc wrote, for the ptx layer."""
    how = layers()[layer]
    out = os.path.join(folder, f"{name}_{layer}{'' if main else '_shell'}")
    objects = compile_c(sources_of(folder, name, main) + [images or write_host_image(folder, name)], folder)
    if not images:
        device = os.path.join(folder, f"{name}_{layer}.cu.o")
        run([how["cxx"], *how["device"], "-I", folder, "-c", os.path.join(folder, name + ".cu"), "-o", device]).ok()
        objects.append(device)
    run([how["cxx"], *objects, os.path.join(BUILD, "runtime/libtlm.a"), how["library"],
         os.path.join(BUILD, "runtime/libtlm.a"), *how["link"], "-lm", "-o", out]).ok()
    return out


def numbers(path):
    """name -> binary32 numbers of a dump."""
    with open(path, "rb") as f:
        data = f.read()
    at, found = 0, []
    while at < len(data):
        end = data.index(b"\n", at)
        what = data[at:end].decode()
        size = int(what.split()[-1])
        found.append((what, struct.unpack(f"<{size // 4}f", data[end + 1:end + 1 + size])))
        at = end + 1 + size + 1
    return found


def same_bytes(one, other, what):
    with open(one, "rb") as a, open(other, "rb") as b:
        left, right = a.read(), b.read()
    if left == right:
        if not left:
            raise Failure(f"{what}: nothing was written")
        return len(left)
    at = next((i for i, (x, y) in enumerate(zip(left, right)) if x != y), min(len(left), len(right)))
    line = left.rfind(b" ", 0, at)
    raise Failure(f"{what}: the dumps differ at byte {at}, near {left[max(0, line - 60):line + 20]!r}")


def quickstart_host(folder, layer="plain", main=DUMP, *options):
    emit(lib.example("quickstart_mlp"), folder, "--device", "cuda", *options)
    return host_program(folder, "quickstart_mlp", layer, main)


# name, dims that keep it small, steps, the layers that are worth their time
MODELS = [
    ("quickstart_mlp", [], 7, ["plain", "asan", "checked", "ptx"]),
    ("digits_mlp", ["-D", "batch=4"], 4, ["plain", "checked", "ptx"]),
    ("digits_mlp", ["-D", "batch=2"], 2, ["asan"]),
    ("char_gpt", ["-D", "T=12", "-D", "L=1"], 2, ["plain", "checked", "ptx"]),
    ("char_gpt", ["-D", "T=4", "-D", "L=1", "-D", "C=16", "-D", "heads=2"], 1, ["asan"]),
    ("gpt2", ["-D", "T=8", "-D", "C=32", "-D", "heads=2", "-D", "L=1", "-D", "vocab=50", "-D", "ctx=8",
              "-D", "train.batch=2"], 2, ["plain", "checked", "ptx"]),
    ("gpt2", ["-D", "T=4", "-D", "C=16", "-D", "heads=2", "-D", "L=1", "-D", "vocab=20", "-D", "ctx=4",
              "-D", "train.batch=1"], 1, ["asan"]),
]

# of the environment, and as argument of the program
RUNS = {
    "plain": [({}, []), ({}, ["no-graph"]), ({"TLM_HOST_SCHEDULE": "reversed"}, []),
              ({"TLM_HOST_SCHEDULE": "random:3"}, []), ({"TLM_HOST_DEFER": "1"}, []), ({"TLM_HOST_DEFER": "2"}, []),
              ({"TLM_HOST_DEFER": "3"}, ["no-graph"]), ({"TLM_HOST_GUARD": "1"}, [])],
    "asan": [({}, []), ({"TLM_HOST_SCHEDULE": "random:3", "TLM_HOST_DEFER": "1"}, [])],
    "checked": [({}, ["no-graph"]), ({"TLM_HOST_SCHEDULE": "random:5"}, [])],
    "ptx": [({"TLM_HOST_CC": "90"}, [])],
}


def ptx_images(folder, name, dims):
    """The PTX that NVRTC emitted, as the only image."""
    kept = os.path.join(folder, "kept")
    tlmc("build", lib.example(name), "--device", "cuda", "--arch", "80", *dims, "--keep", kept, "-o",
         os.path.join(folder, "product")).ok()
    with open(os.path.join(kept, name + "_80.ptx"), "rb") as f:
        data = f.read() + b"\0"
    path = os.path.join(folder, name + "_ptx_images.c")
    with open(path, "w") as f:
        f.write('#include "tlm_cuda.h"\nstatic const unsigned char ptx[] = {' + ",".join(map(str, data)) + "};\n"
                f"const tlm_cuda_image {name}_images[] = {{ {{ TLM_CUDA_IMAGE_PTX, 80, ptx, sizeof ptx }} }};\n"
                f"const uint32_t {name}_image_count = 1;\n")
    return path


def compare(folder, name, dims, steps, layer):
    on_cpu = emit(lib.example(name), os.path.join(folder, "cpu"), *dims)
    on_cuda = emit(lib.example(name), os.path.join(folder, "cuda"), "--device", "cuda", *dims)
    want, got = os.path.join(folder, "want"), os.path.join(folder, "got")
    run([cpu_program(on_cpu, name), want, steps]).ok()
    program = host_program(on_cuda, name, "plain" if layer == "asan" else layer, images=ptx_images(folder, name, dims) if layer == "ptx" else None)
    for env, options in RUNS[layer]:
        result = run([program, got, steps, *options], env={"TLM_HOST_LEAKS": "1", **env}).ok()
        lib.check("cuda-host: " not in result.err, f"{name} {layer}: {result.err[:2000]}")
        size = same_bytes(want, got, f"{name} on {layer} {env} {options}")
        os.remove(got)
    print(f"{name} on {layer}: {size} bytes equal in {len(RUNS[layer])} runs")


def model_tests(layer):
    """One test for each model that the layer has time for."""
    if layer == "asan" and not sanitizers():
        skip("in builds with TLMC_SANITIZE")
    if layer != "asan" and layer not in layers():
        skip(f"this build has no layer {layer}")
    if layer == "ptx" and not has_nvrtc():
        skip("no NVRTC: tlmc was built without the CUDA toolkit")

    def test_of(name, dims, steps):
        def test(folder):
            compare(folder, name, dims, steps, layer)

        test.__name__ = name
        return test

    return [test_of(name, dims, steps) for name, dims, steps, wanted in MODELS if layer in wanted]
