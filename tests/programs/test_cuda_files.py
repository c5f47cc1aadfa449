"""No command but `tlmc build --device cuda` opens a file of CUDA: plans and sources are made without the toolkit.  By strace."""
import re

from lib import *

QUICKSTART = example("quickstart_mlp")
NATIVE = "CUDA toolkit: none" not in tlmc("--version").out
# Paths that belong to CUDA, whoever installed it: libraries of the toolkit and the driver, folders of the toolkit.
CUDA_FILE = re.compile(r"libnvrtc|libcudart|libcublas|libcuda\.so|libnvidia|/cuda(-[0-9.]+)?/|cuda_runtime")
# The machine's own variables may send the C compiler or the dynamic linker through the toolkit's folders.
# So may PATH, along which the compiler is looked for.
CLEAN = {"LIBRARY_PATH": "", "LD_LIBRARY_PATH": "", "CPATH": "",
         "PATH": ":".join(p for p in os.environ["PATH"].split(":") if not CUDA_FILE.search(p + "/"))}


def opened(folder, argv):
    """Paths that a command and its children open."""
    log = folder + "/trace"
    run(["strace", "-f", "-qq", "-e", "trace=open,openat,execve", "-o", log, *argv], env=CLEAN).ok()
    lines = [l for l in open(log, errors="replace") if not re.search(r"= -1 E", l)]     # looked for and not there: no matter
    return re.findall(r'(?:open|openat|execve)\([^"]*"([^"]*)"', "".join(lines))


def nothing_of_cuda(folder):
    for argv in (["check", QUICKSTART], ["plan", "--device", "cuda", QUICKSTART], ["capsules", "--device", "cuda"],
                 ["emit", "--device", "cuda", "-o", folder + "/e", QUICKSTART], ["--version"], ["build", "--help"],
                 ["emit", "--device", "cuda", "--single-file", "-o", folder + "/s", QUICKSTART],
                 ["build", "-o", folder + "/p", QUICKSTART], ["run", QUICKSTART, "--", "--help"]):
        paths = opened(folder, [TLMC, *argv])
        check(any(p.endswith(".tlm") for p in paths) or "--device" in argv or argv[-1].startswith("--"), "the trace works")
        equal([p for p in paths if CUDA_FILE.search(p)], [], f"files of CUDA that tlmc {' '.join(argv)} opened")


def nvrtc_is_seen(folder):
    if not NATIVE:
        return                                                   # there is none to see
    paths = opened(folder, [TLMC, "build", "--device", "cuda", "--arch", "80", "-o", folder + "/p", QUICKSTART])
    check(any("libnvrtc" in p for p in paths), "the trace sees NVRTC where it is opened")


if not has("strace") or run(["strace", "-qq", "-o", "/dev/null", "true"]).status != 0:
    skip("no strace, or it may not trace")
main(nothing_of_cuda, nvrtc_is_seen)
