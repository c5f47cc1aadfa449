"""Whole CUDA programs as NVRTC made them: the PTX, interpreted, has the bits of the CPU's."""
import cuda
from lib import main

main(*cuda.model_tests("ptx"))
