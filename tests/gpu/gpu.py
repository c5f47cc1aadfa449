"""Shared by the checks that need a GPU: programs for the device present, built from what tlmc emits, and their runs.

Everything comes from the environment that scripts/check_gpu.sh sets:
  TLM_GPU_TLMC      the tlmc command             TLM_GPU_BUILD   the build folder it comes from
  TLM_GPU_SOURCE    the checkout                 TLM_GPU_WORK    a folder to write to
  TLM_GPU_CUDA      folder of the CUDA toolkit   TLM_GPU_HEADERS, TLM_GPU_LIBRARIES: its parts
  TLM_GPU_ARCH      90 for sm_90                 TLM_GPU_JOBS    how many compilers at a time
  TLM_GPU_REHEARSAL 1: no GPU; programs get tests/cuda_host in place of libcudart and run on the processor
"""
import os
import re
import subprocess
import sys
import threading

TLMC = os.environ["TLM_GPU_TLMC"]
BUILD = os.environ["TLM_GPU_BUILD"]
SOURCE = os.environ["TLM_GPU_SOURCE"]
WORK = os.environ["TLM_GPU_WORK"]
CUDA = os.environ["TLM_GPU_CUDA"]
HEADERS = os.environ["TLM_GPU_HEADERS"]
LIBRARIES = os.environ["TLM_GPU_LIBRARIES"]
ARCH = os.environ["TLM_GPU_ARCH"]
JOBS = int(os.environ.get("TLM_GPU_JOBS", "4"))
REHEARSAL = os.environ.get("TLM_GPU_REHEARSAL") == "1"
SHORT = os.environ.get("TLM_GPU_SHORT") == "1"
EXAMPLES = os.path.join(SOURCE, "examples")
RUNTIME = os.path.join(BUILD, "runtime")
COMPILE_CU = os.path.join(BUILD, "tests", "gpu", "compile_cu")
HOST = os.path.join(SOURCE, "tests", "cuda_host")
CC = os.environ.get("CC") or "cc"
CFLAGS = ["-std=c11", "-O2", "-fno-math-errno", "-ffp-contract=off"]


class Failure(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failure(message)


def command(argv, status=0, timeout=300, env=None, cwd=None, together=False):
    """Runs a command; a Failure with its output unless it ends with this status (None: any).  together: all in stdout."""
    full = dict(os.environ)
    full.update(env or {})
    try:
        p = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT if together else subprocess.PIPE, text=True,
                           errors="replace", timeout=timeout, env=full, cwd=cwd)
    except subprocess.TimeoutExpired:
        raise Failure(f"more than {timeout} s: {' '.join(map(str, argv))}") from None
    except OSError as e:
        raise Failure(f"{argv[0]}: {e}") from None
    if status is not None and p.returncode != status:
        raise Failure(f"{' '.join(map(str, argv))}\nended with {p.returncode}, wanted {status}:\n{p.stdout[-1500:]}{p.stderr[-3000:]}")
    return p


def folder(*parts):
    path = os.path.join(WORK, *parts)
    os.makedirs(path, exist_ok=True)
    return path


def example(name):
    return os.path.join(EXAMPLES, name, name + ".tlm")


# ---- building

def model_name(model):
    with open(model, encoding="utf-8") as f:
        return re.search(r"^\s*model\s+(\w+)", f.read(), re.M).group(1)


def cuda_links(cublas=False):
    if REHEARSAL:
        return [os.path.join(BUILD, "tests", "cuda_host", "libtlm_host_plain.a"), "-lstdc++", "-lm", "-ldl", "-lpthread"]
    links = [os.path.join(RUNTIME, "libtlm_cublas.a")] if cublas else []
    links += [os.path.join(RUNTIME, "libtlm_cuda.a")]
    if cublas:
        links += [os.path.join(LIBRARIES, "libcublas.so"), "-Wl,-rpath," + LIBRARIES]
    return links + [os.path.join(LIBRARIES, "libcudart_static.a"), "-ldl", "-lrt", "-lpthread", "-lm"]


def compile_device(cu, out, defines=(), includes=()):
    """Device code: OUT.cubin; in a rehearsal also OUT.cu.o, the kernels as code of this processor."""
    command([COMPILE_CU, cu, ARCH, out + ".cubin", CUDA, *defines, *("@" + i for i in includes)])
    if REHEARSAL:
        flags = ["-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-gnu-unique", "-ffp-contract=off", "-fno-math-errno",
                 "-Wno-unknown-pragmas", "-x", "c++", "-include", "cuda_host.h", "-I" + HOST, "-I" + SOURCE + "/runtime",
                 "-I" + SOURCE + "/kernels_cuda", *("-I" + os.path.dirname(i) for i in includes), "-isystem", HEADERS]
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            if " fma " in f.read():
                flags += ["-mfma", "-mavx2"]
        command(["g++", *flags, *("-D" + d for d in defines), "-c", cu, "-o", out + ".cu.o"])


def images_source(name, cubin):
    """The table that `tlmc build` writes, of one image; its bytes are taken in by the assembler."""
    if REHEARSAL:
        return (f'#include "tlm_cuda.h"\nstatic const char image[] = "TLM-CUDA-HOST";\n'
                f"const tlm_cuda_image {name}_images[] = {{ {{ TLM_CUDA_IMAGE_ANY, 0, image, sizeof image }} }};\n"
                f"const uint32_t {name}_image_count = 1;\n")
    size = os.path.getsize(cubin)
    return (f'#include "tlm_cuda.h"\n__asm__(".section .rodata\\n.balign 64\\n{name}_cubin:\\n.incbin \\"{cubin}\\"\\n.previous\\n");\n'
            f"extern const char {name}_cubin[];\n"
            f"const tlm_cuda_image {name}_images[] = {{ {{ TLM_CUDA_IMAGE_CUBIN, {ARCH}, {name}_cubin, {size} }} }};\n"
            f"const uint32_t {name}_image_count = 1;\n")


def build(model, tag, options=(), cuda=True, profile=None, main="tests/programs/dump_model.c"):
    """A model as a program with `main` in place of the shell, None: with it; returns its path."""
    name, out = model_name(model), folder(tag)
    argv = [TLMC, "emit", model, "-o", out, *options]
    if cuda:
        argv += ["--device", "cuda"]
    if profile:
        argv += ["--profile", profile]
    command(argv)
    program = os.path.join(out, "program")
    sources = [f"{out}/{name}.c", f"{out}/{name}_main.c"] + ([os.path.join(SOURCE, main)] if main else [])
    includes = ["-I" + out, "-I" + SOURCE + "/runtime", "-I" + SOURCE + "/kernels_cpu"]
    links = [os.path.join(RUNTIME, "libtlm.a"), "-lm"]
    if cuda:
        compile_device(f"{out}/{name}.cu", f"{out}/{name}")
        with open(f"{out}/{name}_images.c", "w", encoding="utf-8") as f:
            f.write(images_source(name, f"{out}/{name}.cubin"))
        sources.append(f"{out}/{name}_images.c")
        if REHEARSAL:
            sources.append(f"{out}/{name}.cu.o")
        includes.append("-I" + SOURCE + "/kernels_cuda")
        links = cuda_links(profile == "vendor_cuda") + links
    command([CC, *CFLAGS, *includes, *sources, "-o", program, *links])
    return program


def product(model, tag, options=(), cuda=True):
    """What a user gets: `tlmc build`, with the default architectures (from 80 on) and the program shell."""
    path = os.path.join(folder(tag), "product")
    arch = ["--arch", ARCH] if int(ARCH) < 80 else []
    command([TLMC, "build", model, "-o", path, *options, *(["--device", "cuda", "--cuda-path", CUDA, *arch] if cuda else [])])
    return build(model, tag, options, main=None) if REHEARSAL and cuda else path


def parallel(jobs):
    """jobs: name -> function.  Runs them JOBS at a time; name -> result, or the Failure that it raised."""
    results, names, lock = {}, list(jobs), threading.Lock()

    def work():
        while True:
            with lock:
                if not names:
                    return
                name = names.pop(0)
            try:
                result = jobs[name]()
            except Failure as e:
                result = e
            except (OSError, ValueError, LookupError) as e:
                result = Failure(repr(e))
            with lock:
                results[name] = result
    threads = [threading.Thread(target=work) for _ in range(min(JOBS, len(names)) or 1)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return results


def main(*tests):
    """Runs tests one after another; exit 1 if any failed.  A test returns a text to print behind its name, or None."""
    failed = 0
    for test in tests:
        try:
            text = test()
            print(f"ok      {test.__name__}" + (f": {text}" if text else ""), flush=True)
        except (Failure, OSError, ValueError, LookupError) as e:
            failed += 1
            print(f"FAILED  {test.__name__}: {e if isinstance(e, Failure) else repr(e)}", flush=True)
    print(f"{len(tests) - failed} of {len(tests)} passed", flush=True)
    sys.exit(1 if failed else 0)
