"""The commands of docs/cuda.md print what the page says.

A block that begins with `$ tlmc` is run in the quickstart's folder; a line `...` stands for any lines, `...` within a line for
any text.  "with the exit status N" in front of a block is its exit status.  Blocks marked (stub) belong to a tlmc without
CUDA, (native) to one with it on a machine without a driver.
"""
import ctypes
import os
import re

from lib import *

STUB = "CUDA toolkit: none" in tlmc("--version").out


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
        return True
    except OSError:
        return False


def blocks():
    """(command, expected lines, exit status, marks) of every block of commands."""
    with open(os.path.join(SOURCE, "docs/cuda.md")) as f:
        lines = f.read().split("\n")
    for i, line in enumerate(lines):
        if not line.startswith("    $ tlmc "):
            continue
        wanted = []
        for after in lines[i + 1:]:
            if not after.startswith("    "):
                break
            wanted.append(after[4:])
        before = " ".join(lines[max(0, i - 3):i])
        status = re.search(r"with the exit status (\d+)", before)
        yield line[len("    $ tlmc "):].split(), wanted, int(status.group(1)) if status else 0, before


def pattern(wanted):
    text = ""
    for line in wanted:
        if line == "...":
            text += r"(?:.*\n)*?"
        else:
            text += r".*".join(re.escape(part) for part in line.split("...")) + r"\n"
    return re.compile(text)


def commands_of_the_page(folder):
    count = 0
    for argv, wanted, status, before in blocks():
        if "(stub)" in before and not STUB or "(native)" in before and (STUB or has_driver()):
            print("left out in this build:", " ".join(argv))
            continue
        result = tlmc(*argv, cwd=os.path.join(EXAMPLES, "quickstart_mlp"))
        equal(result.status, status, " ".join(argv))
        check(pattern(wanted).match(result.out + result.err),
              f"{argv}: the page has\n" + "\n".join(wanted) + f"\nbut it is\n{result.out}{result.err}")
        count += 1
    check(count >= 6, f"only {count} commands on the page")


def stub_programs(folder):
    """Without CUDA a program is built, refuses to start, and nothing was asked of NVRTC."""
    if not STUB:
        return
    program = build(example("quickstart_mlp"), os.path.join(folder, "quickstart"), "--device", "cuda")
    run([program, "--steps", "1"]).fails(3, "stub", "-DTLMC_CUDA=ON")
    run([program, "--show-backend", "--infer"]).fails(3, "stub")


main(commands_of_the_page, stub_programs)
