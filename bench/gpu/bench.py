"""Timings on the GPU as markdown, for bench/RESULTS.md: rates of the device, kernels, matrix products beside cuBLAS, a
GPT-2 block, whole training steps, launch gaps.  Run by scripts/check_gpu.sh; the text is also left in timings.md."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tests", "gpu"))
from gpu import *

SECONDS = 0.01 if REHEARSAL else 0.4
TINY = ["-D", "C=32", "-D", "heads=2", "-D", "vocab=64", "-D", "ctx=16"]
PROFILES = [("checked_cuda", None), ("vendor_cuda", "vendor_cuda")]
has_cublas = REHEARSAL or os.path.exists(os.path.join(LIBRARIES, "libcublas.so"))
text = []
programs, figures = {}, {}


def say(line=""):
    text.append(line)
    print(line, flush=True)


def gpt2(layers, window):
    if REHEARSAL:
        return TINY + ["-D", f"L={1 if layers < 12 else 2}", "-D", f"T={8 if window < 1024 else 12}"]
    return ["-D", f"L={layers}", "-D", f"T={window}"]


def build_kernels():
    out = folder("bench")
    compile_device(os.path.join(HERE, "kernels.cu"), out + "/kernels", ["BENCH_REHEARSAL=1"] if REHEARSAL else [], [HERE + "/bench_args.h", HERE + "/kernels.def"])
    program = out + "/bench_cuda"
    options = ["-DBENCH_CUBLAS"] if has_cublas else []
    links = cuda_links(has_cublas)
    if REHEARSAL:
        options.append("-DBENCH_REHEARSAL")
        links.insert(0, out + "/kernels.cu.o")
        with open(out + "/kernels.cubin", "w", encoding="utf-8") as f:
            f.write("TLM-CUDA-HOST")
    command([CC, *CFLAGS, *options, "-I" + HERE, "-I" + SOURCE + "/kernels_cuda", "-isystem", HEADERS, HERE + "/bench_cuda.c", "-o", program,
             *links, os.path.join(RUNTIME, "libtlm.a"), "-lm"])
    return program


def build_all():
    """Compiled side by side, before anything is timed."""
    model = "bench/gpu/bench_model.c"
    jobs = {}
    for layers, window in ((12, 1024), (12, 64), (2, 1024)):
        for name, profile in PROFILES[:2 if has_cublas else 1]:
            tag = f"bench-gpt2-{layers}-{window}-{name}"
            jobs["gpt2", layers, window, name] = lambda t=tag, l=layers, w=window, p=profile: build(example("gpt2"), t, gpt2(l, w), profile=p, main=model)
    jobs["kernels"] = build_kernels
    for name in ("quickstart_mlp", "digits_mlp", "char_gpt"):
        options = ["-D", "T=16", "-D", "C=32", "-D", "train.batch=2"] if REHEARSAL and name == "char_gpt" else []
        jobs[name] = lambda n=name, o=options: build(example(n), "bench-" + n, o, main=model)
    programs.update(parallel(jobs))


def program(key):
    made = programs[key]
    if isinstance(made, Failure):
        raise made
    return made


def measured(key, *words):
    if (key, *words) not in figures:
        p = command([program(key), SECONDS, *words])
        figures[key, *words] = {k: float(v) for k, v in (pair.split("=") for pair in p.stdout.split())}
    return figures[key, *words]


def device_line():
    with open(os.path.join(WORK, "device.txt"), encoding="utf-8") as f:
        d = dict(line.strip().split("=", 1) for line in f)
    if REHEARSAL:
        say("**rehearsal, not a GPU: small sizes on a processor, no figure means anything**")
        return
    say(f"{d['name']}, sm_{d['arch']}, {d['multiprocessors']} multiprocessors, clock up to {d['clock_mhz']} MHz, memory {int(d['memory_mib']) / 1024:.0f} GiB at "
        f"{d['memory_clock_mhz']} MHz x {d['memory_bus_bits']} bits, L2 {d['l2_mib']} MiB; driver for CUDA {d['driver']}, runtime {d['runtime']}.")
    try:
        p = command(["nvidia-smi", "--query-gpu=driver_version,clocks.sm,clocks.mem,power.limit,temperature.gpu", "--format=csv,noheader"], status=None, timeout=20)
        if p.returncode == 0:
            say("nvidia-smi (driver, clock and memory clock now, power limit, temperature): " + p.stdout.strip().split("\n")[0] + ".")
    except Failure:
        pass


def kernels_and_products():
    p = command([program("kernels"), os.path.join(WORK, "bench", "kernels.cubin")], status=None)
    say(p.stdout.rstrip())
    check(p.returncode == 0, p.stderr[-1500:])


def training_steps():
    say("| gpt2, 12 layers | profile | micro-batch, ms | step of 8 micro-batches, ms | tokens/s | evaluation with its logits to the host, ms |\n| --- | --- | --- | --- | --- | --- |")
    for window in (64, 1024):
        for name, _ in PROFILES[:2 if has_cublas else 1]:
            m = measured(("gpt2", 12, window, name))
            tokens = 4 * window * m["micro_batches"]
            say(f"| batch 4, T = {window} | {name} | {m['micro']:.3f} | {m['step']:.3f} | {1e3 * tokens / m['step']:.0f} | {m['forward']:.3f} |")


def gpt2_block():
    """Twelve layers less two, by ten: embedding and head are not in it."""
    say("| one GPT-2 block, batch 4, T = 1024, C = 768 | profile | forward and backward, ms | evaluation, ms |\n| --- | --- | --- | --- |")
    for name, _ in PROFILES[:2 if has_cublas else 1]:
        many, few = measured(("gpt2", 12, 1024, name)), measured(("gpt2", 2, 1024, name))
        say(f"| (12 layers - 2 layers) / 10 | {name} | {(many['micro'] - few['micro']) / 10:.3f} | {(many['forward'] - few['forward']) / 10:.3f} |")


def launch_gaps():
    say("| training step, ms | with the graph | kernel by kernel | ratio |\n| --- | --- | --- | --- |")
    for key in ("quickstart_mlp", "digits_mlp", "char_gpt", ("gpt2", 12, 64, "checked_cuda")):
        with_graph, without = measured(key)["step"], measured(key, "no-graph")["step"]
        say(f"| {key if isinstance(key, str) else 'gpt2, 12 layers, T = 64'} | {with_graph:.4f} | {without:.4f} | {without / with_graph:.2f} |")


def all_timings():
    build_all()
    failures = []
    for part in (device_line, kernels_and_products, training_steps, gpt2_block, launch_gaps):
        try:
            part()
        except (Failure, ValueError, KeyError) as e:
            failures.append(f"{part.__name__}: {e}")
        say()
    with open(os.path.join(WORK, "timings.md"), "w", encoding="utf-8") as f:
        f.write("\n".join(text) + "\n")
    check(not failures, "\n".join(failures))
    return "the tables are also in " + os.path.join(WORK, "timings.md")


main(all_timings)
