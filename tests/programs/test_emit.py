"""What emitted files must be: alone, warning-free, without forbidden calls, small, and the same bytes every time."""
import re

from lib import *

STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
FORBIDDEN = {"malloc", "calloc", "realloc", "free", "printf", "fprintf", "puts", "putchar", "exit", "abort", "_Exit", "fopen", "getenv", "time"}


def emitted(folder, *options, model=None, cwd=None):
    tlmc("emit", model or example("quickstart_mlp"), "-o", folder, *options, cwd=cwd).ok()
    return {name: open(os.path.join(folder, name), "rb").read() for name in sorted(os.listdir(folder))}


def single_file_stands_alone(folder):
    emitted(folder, "--single-file")
    for cc, builds in (("cc", ([],)), ("gcc", (["-O3"], ["-std=gnu11", "-O2"])), ("clang", (["-O2"], ["-O3"]))):
        if not has(cc):
            print(f"not run: {cc} is not installed")
            continue
        for extra in builds:
            run([cc, *STRICT, *extra, "-o", folder + "/p", "quickstart_mlp.c", "quickstart_mlp_main.c", "-lm"], cwd=folder).ok()
            out = run([folder + "/p", "--steps", "200", "--seed", "2026"], cwd=EXAMPLES + "/quickstart_mlp").ok().out
            check("loss1=0.003234" in out, f"the program built with {cc} {extra} does not give the oracle's loss")


def model_file_calls(folder):
    emitted(folder, "--single-file")
    run(["cc", *STRICT, "-O2", "-c", "quickstart_mlp.c", "-o", "m.o"], cwd=folder).ok()
    wanted = set(run(["nm", "-u", "m.o"], cwd=folder).ok().out.split()) - {"U"}
    bad = sorted(wanted & FORBIDDEN)
    check(not bad, f"the model file calls {bad}")
    for level in ([], ["-O2"], ["-O3"]):
        run(["cc", *STRICT, *level, "-c", "quickstart_mlp.c", "-o", "m.o"], cwd=folder).ok()
        run(["strip", "m.o"], cwd=folder).ok()
        size = os.path.getsize(folder + "/m.o")
        check(size < 100_000, f"the stripped object has {size} bytes with {level}")
    run(["cc", *STRICT, "-O2", "-c", "quickstart_mlp.c", "-o", "m2.o"], cwd=folder).ok()
    mutable = [line for line in run(["nm", "m2.o"], cwd=folder).ok().out.splitlines() if line.split()[-2] in "bBDC"]
    check(not mutable, f"the model file has mutable globals: {mutable}")


def same_bytes(folder):
    os.mkdir(folder + "/elsewhere")
    for options in ([], ["--single-file"], ["--profile", "reference_cpu"]):
        names = [folder + f"/{i}{len(options)}{options[-1:]}" for i in range(2)]
        a = emitted(names[0], *options)
        b = emitted(names[1], *options, model=os.path.relpath(example("quickstart_mlp"), folder + "/elsewhere"), cwd=folder + "/elsewhere")
        equal(sorted(a), sorted(b), "files")
        for name in a:
            check(a[name] == b[name], f"{name} differs between two runs ({options})")
        for name, text in a.items():
            check(SOURCE.encode() not in text, f"{name} holds a path of this machine")


def written_again(folder):
    """The command in the head of a file writes the same bytes, and the fingerprint follows the capsule file."""
    here = EXAMPLES + "/own_kernel"
    for name in os.listdir(here):
        shutil.copy(os.path.join(here, name), folder)
    os.mkdir(folder + "/lib")
    options = ["--capsules", "my_kernels.capsules", "-I", "lib", "--no-pass", "cse", "--deterministic", "--single-file"]
    first = emitted(folder + "/a", *options, model="own_kernel.tlm", cwd=folder)
    head = first["own_kernel.c"].decode().split("*/")[0]
    check("Providers besides tlmc's: my-kernels (my_kernels.capsules)." in head, head)
    command = re.search(r"Regenerate with:\s+tlmc\s(.*?)\n   Profile", head, re.S).group(1).split()
    tlmc(*command, "-o", folder + "/b", cwd=folder).ok()
    for name, text in first.items():
        check(open(f"{folder}/b/{name}", "rb").read() == text, f"{name} differs when it is written by {command}")
    open(folder + "/my_kernels.capsules", "a").write("# changed\n")
    second = emitted(folder + "/c", *options, model="own_kernel.tlm", cwd=folder)
    check(first["own_kernel.c"] != second["own_kernel.c"], "another capsule file has the same fingerprint")


def inference_only(folder):
    files = emitted(folder, "--entry", "infer", "--single-file")
    text = files["quickstart_mlp.c"].decode()
    for word in ("adam_update", "train_backward", "gradient of"):
        check(word not in text, f"--entry infer still emits {word}")


def header_in_cplusplus(folder):
    if not has("g++"):
        skip("g++ is not installed")
    emitted(folder)
    open(folder + "/user.cpp", "w").write('#include "quickstart_mlp.h"\nint main() { quickstart_mlp *m = nullptr; return m != nullptr; }\n')
    run(["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(SOURCE, "runtime"), "-fsyntax-only", "user.cpp"], cwd=folder).ok()


def model_names(folder):
    """Names that generated text uses itself do not clash with the model's."""
    source = open(example("quickstart_mlp")).read()
    for name in ("param_rows", "rates", "needs", "groups"):
        open(folder + "/m.tlm", "w").write(source.replace("model quickstart_mlp;", f"model {name};"))
        tlmc("emit", folder + "/m.tlm", "-o", folder).ok()
        run(["cc", *STRICT, "-I" + SOURCE + "/runtime", "-I" + SOURCE + "/kernels_cpu", "-fsyntax-only", name + ".c", name + "_main.c"], cwd=folder).ok()


def memory_blocks(folder):
    """create refuses blocks that are missing, too small or misaligned, each by name, and writes nothing."""
    emitted(folder)
    run(["cc", *STRICT, "-g", "-I.", "-I" + SOURCE + "/runtime", "-I" + SOURCE + "/kernels_cpu", "-o", "user", "quickstart_mlp.c",
         "quickstart_mlp_main.c", SOURCE + "/tests/programs/create_refused.c", "-lm"], cwd=folder).ok()
    equal(run([folder + "/user"]).ok().out, "all refused\n", "what create refuses")


def learning_rate_from_c(folder):
    """NAME_set_lr gives the program's own numbers: the same weights after 20 steps, bit for bit."""
    emitted(folder, "--single-file")
    run(["cc", *STRICT, "-O2", "-I.", "-o", "user", os.path.join(SOURCE, "tests/programs/train_from_c.c"), "quickstart_mlp.c", "-lm"], cwd=folder).ok()
    here = EXAMPLES + "/quickstart_mlp"
    got = {}
    for line in run([folder + "/user"], stdin=open(here + "/grid25.csv", "rb").read()).ok().out.splitlines():
        got.setdefault(line.split()[0], []).append(float.fromhex(line.split()[1]))
    program = build(example("quickstart_mlp"), folder + "/p")
    run([program, "--seed", "2026", "--steps", "20", "--save", folder + "/w.safetensors"], cwd=here).ok()
    wanted = {k: list(struct.unpack(f"<{len(v[2]) // 4}f", v[2])) for k, v in weights(folder + "/w.safetensors").items() if not k.startswith("tlm.")}
    equal(got, wanted, "weights")


main(single_file_stands_alone, model_file_calls, same_bytes, written_again, inference_only, header_in_cplusplus, model_names, memory_blocks, learning_rate_from_c)
