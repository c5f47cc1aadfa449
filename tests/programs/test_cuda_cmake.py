"""The CMake way of a CUDA program: an installed tlmc, the folder that `tlmc emit --device cuda` writes, nvcc for the device
code, a program that links tlmc::tlm_cuda; alone and by add_subdirectory() in a larger project."""
from lib import *

BUILD = os.environ["TLMC_BUILD"]
# of this machine's environment nothing but the prefix leads to tlmc
ARCHITECTURE = "-DQUICKSTART_MLP_ARCHITECTURES=80"
HOST = """cmake_minimum_required(VERSION 3.20)
project(host C)
find_package(tlmc REQUIRED)
add_subdirectory(model)
add_executable(host host.c)
target_link_libraries(host PRIVATE quickstart_mlp_model)
"""
HOST_C = """#include "quickstart_mlp.h"
#include <stdio.h>

int main(void)
{
    quickstart_mlp *m = NULL;
    tlm_status status = quickstart_mlp_create(&m, NULL);

    puts(tlm_status_name(status));
    quickstart_mlp_destroy(m);
    return 0;
}
"""
