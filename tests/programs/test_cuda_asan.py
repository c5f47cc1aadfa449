"""Whole CUDA programs, host code and kernels under ASan and UBSan, eager and deferred: the bits of the CPU's, and nothing left allocated."""
import cuda
from lib import main

main(*cuda.model_tests("asan"))
