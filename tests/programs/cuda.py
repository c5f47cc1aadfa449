"""Emitted CUDA programs on this machine: linked with the host layers of tests/cuda_host in place of cudart and cuBLAS.

Layers, as layers.json of the build folder describes them: plain (the shim; under the sanitizers of the build if it has
some), checked (races, bounds, unwritten memory), ptx (the PTX that NVRTC emitted, interpreted).
"""
import json
import os

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
