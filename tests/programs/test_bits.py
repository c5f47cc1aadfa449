"""One arithmetic, one result: saved weights are equal bit for bit for every thread count, SIMD level, compiler and -O level."""
from lib import *

LEVELS = [("base", None), ("avx2", "avx2")]             # avx512: test_bits_avx512.py, a skip that ctest counts
MODELS = {
    "quickstart_mlp": ([], ["--steps", "60", "--seed", "7"]),
    "digits_mlp": ([], ["--steps", "40", "--seed", "3"]),
    "char_gpt": (["-D", "T=24", "-D", "C=32", "-D", "train.batch=3"], ["--steps", "6", "--seed", "5"]),
}


def trained(program, name, folder, tag, *flags):
    path = f"{folder}/{tag}.safetensors"
    run([program, *MODELS[name][1], "--save", path, *flags], cwd=os.path.join(EXAMPLES, name)).ok()
    return weights(path)


def same(a, b, what):
    equal(sorted(a), sorted(b), f"{what}: keys")
    for key in a:
        check(a[key] == b[key], f"{what}: '{key}' differs")


def bits_of(name, folder):
    options = MODELS[name][0]
    program = build(example(name), folder + "/first", *options)
    first = trained(program, name, folder, "first", "--threads", "1")
    for threads in (2, 5):
        same(first, trained(program, name, folder, f"t{threads}", "--threads", threads), f"{name}, {threads} threads")
    for level, flag in LEVELS:
        if flag and not cpu_has(flag):
            print(f"not run: {name} at --cpu {level}: the processor lacks {flag}")
            continue
        if level == "base" and name != "quickstart_mlp":
            continue                       # software FMA: the levels of the small model and of the op tests cover it
        same(first, trained(program, name, folder, level, "--cpu", level), f"{name}, --cpu {level}")
    compilers = [("gcc", "-O3 -march=native"), ("clang", "-O2"), ("gcc", "-O2"), ("clang", "-O3")]
    for cc, flags in compilers if name != "char_gpt" else compilers[:2]:      # the first build is the default's, gcc -O2
        if not has(cc):
            print(f"not run: {name} with {cc}: not installed")
            continue
        other = build(example(name), folder + "/other", *options, cc=cc, cflags=flags)
        same(first, trained(other, name, folder, "other"), f"{name}, {cc} {flags}")


def quickstart(folder):
    bits_of("quickstart_mlp", folder)


def digits(folder):
    bits_of("digits_mlp", folder)


def char_gpt(folder):
    bits_of("char_gpt", folder)


if __name__ == "__main__":
    main(quickstart, digits, char_gpt)
