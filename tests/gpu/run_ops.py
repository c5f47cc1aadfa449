"""The op test table on the GPU: every case of every op as an emitted CUDA program, bits against the arithmetic contract.

  run_ops.py           all ops, a process each (a fault of the device ends a process, not the others)
  run_ops.py --so DIR  compiles the emitted program in DIR to DIR/cases.so: what run_ops calls
"""
import glob

from gpu import *

RUN_OPS = os.path.join(BUILD, "tests", "gpu", "run_ops")
SHORT_LIST = ["add", "matmul", "softmax", "reduce_sum", "layer_norm", "gather", "adam_update", "bernoulli_mask", "groups/pointwise"]


def runtime_objects():
    """The CUDA runtime of emitted programs as code for shared objects."""
    out = folder("ops", "runtime")
    names = [n for n in glob.glob(os.path.join(SOURCE, "runtime", "cuda_*.c")) if not n.endswith(("cuda_stub.c", "cuda_cublas.c"))]
    for name in names:
        command([CC, *CFLAGS, "-D_POSIX_C_SOURCE=200809L", "-fPIC", "-I" + SOURCE + "/runtime", "-isystem", HEADERS, "-c", name, "-o",
                 os.path.join(out, os.path.basename(name) + ".o")])


def shared_object(at):
    """The emitted host code with the kernels' cubin, in a rehearsal with the kernels."""
    compile_device(at + "/cases.cu", at + "/cases")
    with open(at + "/cases_images.c", "w", encoding="utf-8") as f:
        f.write(images_source("cases", at + "/cases.cubin"))
    includes = ["-I" + at, "-I" + SOURCE + "/runtime", "-I" + SOURCE + "/kernels_cuda"]
    objects = sorted(glob.glob(os.path.join(WORK, "ops", "runtime", "*.o")))
    links = objects + [os.path.join(LIBRARIES, "libcudart_static.a"), "-ldl", "-lrt", "-lpthread", "-lm"]
    if REHEARSAL:
        links = [at + "/cases.cu.o", *cuda_links()]
    command([CC, *CFLAGS, "-O1", "-fPIC", "-shared", "-Wl,-Bsymbolic", *includes, at + "/cases.c", at + "/cases_main.c", at + "/shell_stub.c",
             at + "/cases_images.c", "-o", at + "/cases.so", *links])


def ops():
    if SHORT:
        return SHORT_LIST
    with open(os.path.join(BUILD, "tests", "ops", "names.txt"), encoding="utf-8") as f:
        names = re.findall(r"^(?:ops/(\w+)|(groups/\w+))/native_c$", f.read(), re.M)
    wanted = os.environ.get("TLM_GPU_OPS", "").split()
    return [name for name in (a or b for a, b in names) if not wanted or name in wanted]


def run_op(name):
    at = folder("ops", name.replace("/", "_"))
    compiler = f"'{sys.executable}' -B '{os.path.abspath(__file__)}' --so"
    p = command([RUN_OPS, name, at, compiler], status=None, together=True)
    passed = len(re.findall(r"^\[ +OK +\]", p.stdout, re.M))
    if p.returncode:
        lines = [line for line in p.stdout.split("\n") if re.search(r"^ERROR|^\[ +FAILED|^failed|error:(?! Failure)|fault", line)]
        raise Failure(f"exit status {p.returncode}, {passed} cases passed\n" + "\n".join("        " + line[:300] for line in lines[:6]))
    return passed


def all_ops():
    runtime_objects()
    names = ops()
    results = parallel({name: lambda n=name: run_op(n) for name in names})
    bad = {name: r for name, r in results.items() if isinstance(r, Failure)}
    for name in sorted(bad):
        print(f"FAILED  ops/{name}: {bad[name]}")
    cases = sum(r for r in results.values() if not isinstance(r, Failure))
    check(not bad, f"{len(bad)} of {len(names)} ops failed")
    return f"{len(names)} ops, {cases} cases, each with the graph and without"


if len(sys.argv) == 3 and sys.argv[1] == "--so":
    try:
        shared_object(sys.argv[2])
    except Failure as e:
        sys.exit(str(e))
else:
    main(all_ops)
