"""The bits of test_bits.py at --cpu avx512; skipped, counted and named, where the processor lacks it."""
from lib import *
from test_bits import MODELS, same, trained

if not cpu_has("avx512f"):
    skip("the processor has no AVX-512: --cpu avx512 is not compared here")


def avx512(folder):
    for name, (options, _) in MODELS.items():
        program = build(example(name), folder + "/" + name, *options)
        same(trained(program, name, folder, name + "-avx2", "--cpu", "avx2"), trained(program, name, folder, name + "-avx512", "--cpu", "avx512"), name)


main(avx512)
