"""A CUDA program by CMake: an installed tlmc, the folder that `tlmc emit --device cuda` writes, nvcc for its device code, and
a program that links tlmc::tlm_cuda.  Alone, and by add_subdirectory() in the project of someone else."""
from lib import *

BUILD = os.environ["TLMC_BUILD"]
QUICKSTART = example("quickstart_mlp")
PROJECT = """cmake_minimum_required(VERSION 3.20)
project(host C)
find_package(tlmc REQUIRED)
add_subdirectory(model)
add_executable(host host.c)
target_link_libraries(host PRIVATE quickstart_mlp_model)
"""
HOST = """#include "quickstart_mlp.h"
#include <stdio.h>

int main(void)
{
    quickstart_mlp *m = NULL;
    tlm_options none = { 0 }; /* the ABI is refused before the device is asked */

    printf("%d\\n", quickstart_mlp_create(&m, &none) == TLM_OK);
    quickstart_mlp_destroy(m);
    return 0;
}
"""


def cached(name):
    for line in open(BUILD + "/CMakeCache.txt"):
        if line.startswith(name + ":"):
            return line.rstrip("\n").split("=", 1)[1]
    return ""


def prepared(folder):
    """What an embedder has: a prefix with tlmc, and an emitted model."""
    run(["cmake", "--install", BUILD, "--prefix", folder + "/prefix"]).ok()
    run([folder + "/prefix/bin/tlmc", "emit", QUICKSTART, "--device", "cuda", "-o", folder + "/model"]).ok()


def configured(folder, source):
    """One architecture: it is the build that is tested, not the kernels."""
    run(["cmake", "-G", "Ninja", "-S", source, "-B", folder + "/b", f"-DCMAKE_PREFIX_PATH={folder}/prefix",
         "-DQUICKSTART_MLP_ARCHITECTURES=80"]).ok()
    return run(["cmake", "--build", folder + "/b"])


def alone(folder):
    prepared(folder)
    configured(folder, folder + "/model").ok()
    run([folder + "/b/quickstart_mlp", "--help"]).ok()
    r = run([folder + "/b/quickstart_mlp", "--steps", "2"])
    if r.status:                                                # a machine without a driver, or without a device
        r.fails(3, "CUDA was requested and this is a CUDA build")


def in_a_project(folder):
    prepared(folder)
    open(folder + "/CMakeLists.txt", "w").write(PROJECT)
    open(folder + "/host.c", "w").write(HOST)
    configured(folder, folder).ok()
    equal(run([folder + "/b/host"]).ok().out, "0\n", "a create without an ABI")


if not cached("CUDAToolkit_NVCC_EXECUTABLE") or "CUDA toolkit: none" in tlmc("--version").out:
    skip("this build has no CUDA toolkit with nvcc")
if not has("cmake") or not has("ninja"):
    skip("no cmake or no ninja")
main(alone, in_a_project)
