"""tlmc build --device cuda: what the product is and needs, its size and the cost of its build, wrong options and a
machine without NVRTC.  In a build without the toolkit: the stub."""
import re
import resource
import shutil
import signal
import struct
import time

from lib import *

QUICKSTART, GPT2 = example("quickstart_mlp"), example("gpt2")
NATIVE = "CUDA toolkit: none" not in tlmc("--version").out
ARCHS = ["80", "90", "100", "120"]
STUB_PROJECT = """cmake_minimum_required(VERSION 3.20)
project(p C)
find_package(tlmc REQUIRED)
add_executable(p quickstart_mlp.c quickstart_mlp_main.c quickstart_mlp_images.c)
target_link_libraries(p PRIVATE tlmc::tlm_cublas tlmc::tlm_cuda m)
"""


def needed(path):
    """The shared libraries that an ELF file names."""
    data = open(path, "rb").read()
    offset, = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
    names = []
    for s in sections:
        if s[1] != 6:                                            # the dynamic section
            continue
        text = sections[s[6]][4]
        for at in range(s[4], s[4] + s[5], 16):
            tag, value = struct.unpack_from("<QQ", data, at)
            if tag == 1:
                names.append(data[text + value:data.index(b"\0", text + value)].decode())
    return names


def images(folder, name):
    """(kind, architecture) of each row of NAME_images.c."""
    text = open(f"{folder}/{name}_images.c").read()
    return re.findall(r"\{ TLM_CUDA_IMAGE_(\w+), (\d+), \w+, sizeof", text)


def toolkit_root():
    return os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")))


def toolkit_without_fatbinary(folder):
    tools = folder + "/no_tool"
    os.makedirs(tools)
    root = toolkit_root()
    for entry in os.listdir(root):
        if entry != "bin":
            os.symlink(os.path.join(root, entry), os.path.join(tools, entry))
    return tools


def timed(*argv):
    """Wall clock and processor seconds of a build; printed, since other work on the machine counts too."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    result = tlmc(*argv).ok()
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{os.path.basename(argv[-1])}: {wall:.1f} s, {cpu:.1f} s of processors")
    return result, cpu


def quickstart(folder):
    out, keep = folder + "/p", folder + "/k"
    result, cpu = timed("build", "--device", "cuda", "-o", out, "--keep", keep, QUICKSTART)
    equal(result.out, out + "\n", "what build prints")
    equal(result.err, "", "remarks of the compilers")
    check(cpu < 12, f"the build took {cpu:.1f} s of processors")     # 5 on the machine it was written on
    equal(images(keep, "quickstart_mlp"), [("ANY", "80")], "images: one fatbin")
    for name in (".c", ".h", ".cu", "_main.c", "_cuda.c", "_images.c", "_80.ptx"):
        check(os.path.exists(f"{keep}/quickstart_mlp{name}"), f"--keep keeps quickstart_mlp{name}")
    check(not [f for f in os.listdir(keep) if f.endswith((".o", ".cubin", ".fatbin"))], "only texts are kept")
    check(os.path.getsize(out) < 3 << 20, f"the product has {os.path.getsize(out)} bytes")
    others = [n for n in needed(out) if not re.match(r"lib(c|m|dl|rt|pthread)\.so|ld-linux", n)]
    equal(others, [], "shared libraries besides the C library's")
    run([out, "--help"]).ok()
    r = run([out, "--steps", "2"])
    if r.status:
        r.fails(3, "CUDA was requested and this is a CUDA build")
    os.makedirs(folder + "/driver")
    open(folder + "/driver/libcuda.so.1", "w").write("no library")
    run([out, "--steps", "2"], env={"LD_LIBRARY_PATH": folder + "/driver"}).fails(3, "libcuda.so.1 is missing or broken")


def large(folder):
    out, keep = folder + "/p", folder + "/k"
    _, cpu = timed("build", "--device", "cuda", "-o", out, "--keep", keep, GPT2)
    check(cpu < 120, f"the build took {cpu:.1f} s of processors")    # 60 seconds of two
    print(f"gpt2: {os.path.getsize(out)} bytes")
    check(os.path.getsize(out) < 3 << 20, f"the product has {os.path.getsize(out)} bytes")


def without_the_tool(folder):
    """A toolkit without fatbinary: images travel one by one, in order, whatever the order of the list."""
    tools = toolkit_without_fatbinary(folder)
    tlmc("build", "--device", "cuda", "--cuda-path", tools, "--arch", "90,80", "-o", folder + "/p", "--keep", folder + "/k",
         QUICKSTART).ok()
    equal(images(folder + "/k", "quickstart_mlp"), [("CUBIN", "80"), ("CUBIN", "90"), ("PTX", "80")], "images")


def compilers(folder):
    """The files that the driver writes itself compile without a warning, with any compiler."""
    tlmc("build", "--device", "cuda", "--arch", "80", "-o", folder + "/p", "--keep", folder + "/k", QUICKSTART).ok()
    for cc in filter(has, ("gcc", "clang")):
        for flags in (["-O0"], ["-O2"]):
            run([cc, "-std=c11", "-Wall", "-Wextra", "-Werror", *flags, "-c", "quickstart_mlp_images.c", "-o", folder + "/o"],
                cwd=folder + "/k").ok()


def cublas(folder):
    out = folder + "/p"
    r = tlmc("build", "--profile", "vendor_cuda", "--arch", "80", "-o", out, QUICKSTART)
    if r.status and "needs cuBLAS" in r.err:
        print("skipped: this toolkit has no cuBLAS")
        return
    r.ok()
    check(any(n.startswith("libcublas.so") for n in needed(out)), "a plan with cuBLAS links it")


def lists(folder):
    out = folder + "/p"
    for value, text in (("", "empty"), ("80,", "empty"), ("sm_80", "'sm_80' is not a number"), ("70", "older"),
                        ("80,80", "given twice"), ("080", "'080' is not a number"), ("0", "not a number"), ("99", "does not know 99; it knows"), ("80a", "not a number")):
        r = tlmc("build", "--device", "cuda", "--arch", value, "-o", out, QUICKSTART).fails(2, "--arch", text)
        equal(r.err.count("\n"), 1, "lines of the message")
        check(not os.path.exists(out), "no product")
    tlmc("build", "--device", "cuda", "--cuda-path", "", "-o", out, QUICKSTART).fails(2, "--cuda-path '': no file or folder is named")


def commas(folder):
    """Neither the toolkit's tool nor the linker takes a comma in a path: they get none."""
    odd = folder + "/a,b c"
    os.makedirs(odd)
    tlmc("build", "--device", "cuda", "--arch", "80", "-o", folder + "/p", "--keep", odd + "/k", QUICKSTART, env={"TMPDIR": odd}).ok()
    equal(images(odd + "/k", "quickstart_mlp"), [("ANY", "80")], "images: one fatbin")
    equal(os.listdir(odd), ["k"], "left files")
    libraries = os.path.realpath(toolkit_root() + "/lib64")
    if not os.path.exists(libraries + "/libcublas.so"):
        print("skipped: this toolkit has no cuBLAS")
        return
    os.symlink(toolkit_root(), odd + "/cuda")
    tlmc("build", "--profile", "vendor_cuda", "--arch", "80", "--cuda-path", odd + "/cuda", "-o", folder + "/q", QUICKSTART).ok()
    check(f"{odd}/cuda/lib".encode() in open(folder + "/q", "rb").read(), "the folder of cuBLAS is in the program")


def kept(folder):
    """What --keep writes carries tlmc's mark, PTX too; a file that does not is not replaced."""
    argv = ["build", "--device", "cuda", "--arch", "80", "-o", folder + "/p", "--keep", folder + "/k", QUICKSTART]
    tlmc(*argv).ok()
    tlmc(*argv).ok()
    for name in os.listdir(folder + "/k"):
        open(f"{folder}/k/{name}", "w").write("mine\n")
        tlmc(*argv).fails(2, f"'{folder}/k/{name}' was not written by tlmc")
        os.remove(f"{folder}/k/{name}")


def interrupted(folder):
    """A signal while NVRTC works."""
    os.makedirs(folder + "/tmp")
    for number in (signal.SIGINT, signal.SIGTERM):
        p = subprocess.Popen([TLMC, "build", "--device", "cuda", "-o", folder + "/p", GPT2], env={**os.environ, "TMPDIR": folder + "/tmp"},
                             stderr=subprocess.PIPE, preexec_fn=lambda: [signal.signal(n, signal.SIG_DFL) for n in (2, 15)])
        while p.poll() is None and not any(os.path.exists(f"{folder}/tmp/{t}/gpt2.cu") for t in os.listdir(folder + "/tmp")):
            time.sleep(0.01)
        time.sleep(0.5)
        start = time.monotonic()
        p.send_signal(number)
        err = p.communicate(timeout=60)[1]
        equal((p.returncode, os.listdir(folder)), (-number, ["tmp"]), "exit status and files")
        equal((err, os.listdir(folder + "/tmp")), (b"", []), "what is printed and left")
        check(time.monotonic() - start < 10, "NVRTC was waited for")


def misplaced(folder):
    for options in (["--arch", "80"], ["--cuda-path", "/usr"]):
        tlmc("build", *options, "-o", folder + "/p", QUICKSTART).fails(2, "are for --device cuda")
        tlmc("emit", "--device", "cuda", *options, "-o", folder + "/e", QUICKSTART).fails(2, "unknown option")
    check(os.listdir(folder) == [], "nothing was written")


def without_nvrtc(folder):
    r = tlmc("build", "--device", "cuda", "--cuda-path", "/nonexistent", "-o", folder + "/p", QUICKSTART)
    r.fails(2, "needs NVRTC", "/nonexistent/lib64", "--cuda-path")
    equal(r.err.count("\n"), 1, "lines of the message")
    os.makedirs(folder + "/t/lib64")
    with open(folder + "/t/lib64/libnvrtc.so", "w") as f:
        f.write("no library")
    tlmc("build", "--device", "cuda", "--cuda-path", folder + "/t", "-o", folder + "/p", QUICKSTART).fails(2, "needs NVRTC")
    check(os.listdir(folder) == ["t"], "nothing was written")


def failing_compiler(folder):
    out = folder + "/p"
    for device in ("cpu", "cuda"):
        tlmc("build", "--device", device, "--cc", "false", "-o", out, QUICKSTART).fails(2, "'false' did not compile")
        tlmc("build", "--device", device, "--cc", "no-such-compiler", "-o", out, QUICKSTART).fails(2, "no-such-compiler")
    check(not os.path.exists(out), "no product")


def stub(folder):
    out = folder + "/p"
    r = tlmc("build", "--device", "cuda", "-o", out, "--keep", folder + "/k", QUICKSTART).ok()
    check("note: this tlmc was built without the CUDA toolkit" in r.err, r.err)
    equal(images(folder + "/k", "quickstart_mlp"), [], "images")
    run([out, "--train"]).fails(3, "linked to tlmc's stub of the CUDA runtime")
    tlmc("build", "--device", "cuda", "--arch", "80", "-o", out, QUICKSTART).fails(2, "built with the CUDA toolkit")


def stub_cublas(folder):
    """A plan that chose cuBLAS links the stub's entry, from tlmc build and from CMake, and refuses to run."""
    out, keep, prefix = folder + "/p", folder + "/k", folder + "/prefix"
    tlmc("build", "--profile", "vendor_cuda", "-o", out, "--keep", keep, QUICKSTART).ok()
    check("tlm_cublas_matmul" in open(keep + "/quickstart_mlp.c").read(), "the plan chose cuBLAS")
    run([out, "--train"]).fails(3, "linked to tlmc's stub of the CUDA runtime")
    run(["cmake", "--install", os.environ["TLMC_BUILD"], "--prefix", prefix]).ok()
    tlmc("emit", "--profile", "vendor_cuda", "--single-file", "-o", folder + "/e", QUICKSTART).ok()
    shutil.copy(keep + "/quickstart_mlp_images.c", folder + "/e")
    open(folder + "/e/CMakeLists.txt", "w").write(STUB_PROJECT)
    run(["cmake", "-G", "Ninja", "-S", folder + "/e", "-B", folder + "/b", f"-DCMAKE_PREFIX_PATH={prefix}"]).ok()
    run(["cmake", "--build", folder + "/b"]).ok()
    run([folder + "/b/p", "--train"]).fails(3, "linked to tlmc's stub of the CUDA runtime")


ALWAYS = [misplaced, failing_compiler]
main(*ALWAYS, *([quickstart, large, without_the_tool, compilers, cublas, commas, kept, interrupted, lists, without_nvrtc] if NATIVE else [stub, stub_cublas]))
