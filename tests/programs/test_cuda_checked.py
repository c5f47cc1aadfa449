"""Whole CUDA programs under the checker: no race, no access out of bounds, nothing read before it was written, and the bits of the CPU's."""
import cuda
from lib import main

main(*cuda.model_tests("checked"))
