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


def products(folder):
    """A product's loops: by the calling thread, by OpenMP, by a pool of libtlm."""
    tlmc("emit", example("digits_mlp"), "--single-file", "-o", folder).ok()
    runtime, saved = SOURCE + "/runtime", {}
    for name, flags, threads, wanted in (("plain", [], 3, (1,)), ("openmp", ["-fopenmp"], 1, (1,)),
                                         ("openmp", ["-fopenmp"], 3, (2, 3)),              # as many as the last loop had
                                         ("pool", ["-DWITH_POOL", runtime + "/pool.c", runtime + "/status.c", "-lpthread"], 3, (3,)),
                                         ("pool, OpenMP idle", ["-DWITH_POOL", "-fopenmp", runtime + "/pool.c", runtime + "/status.c", "-lpthread"], 3, (3,))):
        run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-fno-math-errno", "-I" + folder, "-I" + runtime, "-o", folder + "/product",
             SOURCE + "/tests/programs/threads_from_c.c", folder + "/digits_mlp.c", *flags, "-lm"]).ok()
        r = run([folder + "/product", threads], env={"OMP_WAIT_POLICY": "passive"}).ok()
        saved[name] = r.out
        check(r.out.count("\n") > 9000 and r.out == saved["plain"], f"{name}, {threads} threads: other weights than without threads")
        if os.path.isdir("/proc/self/task"):
            check(int(r.err) in wanted, f"{name}: {r.err.strip()} threads, wanted {wanted}")


def quickstart(folder):
    bits_of("quickstart_mlp", folder)


def digits(folder):
    bits_of("digits_mlp", folder)


def char_gpt(folder):
    bits_of("char_gpt", folder)


if __name__ == "__main__":
    main(products, quickstart, digits, char_gpt)
