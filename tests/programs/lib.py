"""Shared by the program tests: running tlmc and compiled models, reading and writing .npy and safetensors.

Standard library only.  TLMC names the command, TLMC_SOURCE the checkout; each test works in a folder of its own.
A test that cannot run here calls skip(reason): exit 77, which ctest counts and names as skipped.
"""
import ast
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

TLMC = os.environ["TLMC"]
SOURCE = os.environ["TLMC_SOURCE"]
EXAMPLES = os.path.join(SOURCE, "examples")


class Failure(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failure(message)


def equal(got, want, what):
    check(got == want, f"{what}: got {got!r}, wanted {want!r}")


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


class Result:
    def __init__(self, p, argv):
        self.status, self.out, self.err, self.argv = p.returncode, p.stdout, p.stderr, argv

    def ok(self):
        check(self.status == 0, f"{self.argv} ended with {self.status}:\n{self.out[-2000:]}{self.err[-3000:]}")
        return self

    def fails(self, status, *texts):
        """Ended with this status, not by a signal, and the message holds every text."""
        check(self.status == status, f"{self.argv} ended with {self.status}, wanted {status}:\n{self.out[-1000:]}{self.err[-2000:]}")
        for text in texts:
            check(text in self.err + self.out, f"{self.argv}: the message lacks {text!r}:\n{self.err[-2000:]}")
        return self


def run(argv, cwd=None, env=None, stdin=None, timeout=600):
    full = dict(os.environ)
    full.update(env or {})
    p = subprocess.run([str(a) for a in argv], cwd=cwd, env=full, input=stdin, capture_output=True, timeout=timeout)
    p.stdout = p.stdout.decode("utf-8", "replace")
    p.stderr = p.stderr.decode("utf-8", "replace")
    return Result(p, " ".join(map(str, argv)))


def tlmc(*argv, **kw):
    return run([TLMC, *argv], **kw)


def example(name):
    return os.path.join(EXAMPLES, name, name + ".tlm")


def build(model, out, *options, cc=None, cflags=None):
    """Compiles a model to a program; returns its path."""
    argv = ["build", model, "-o", out, *options]
    if cc:
        argv += ["--cc", cc]
    if cflags:
        argv += ["--cflags", cflags]
    tlmc(*argv).ok()
    return out


def has(command):
    return shutil.which(command) is not None


def cpu_has(flag):
    try:
        with open("/proc/cpuinfo") as f:
            return any(flag in line.split() for line in f if line.startswith("flags"))
    except OSError:
        return False


# ---- files

def write_npy(path, descr, shape, values):
    code = {"<f4": "f", "<f8": "d", "<i4": "i", "|b1": "?", "|u1": "B"}[descr]
    header = repr({"descr": descr, "fortran_order": False, "shape": tuple(shape)})
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        f.write(struct.pack(f"<{len(values)}{code}", *values))


def read_npy(path):
    with open(path, "rb") as f:
        data = f.read()
    check(data[:6] == b"\x93NUMPY", f"{path} is no npy file")
    size = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:10 + size].decode())
    code = {"<f4": "f", "<f8": "d", "<i4": "i", "|b1": "?"}[header["descr"]]
    body = data[10 + size:]
    return header["shape"], list(struct.unpack(f"<{len(body) // struct.calcsize(code)}{code}", body))


def read_safetensors(path):
    """key -> (dtype, shape, bytes), and the metadata."""
    with open(path, "rb") as f:
        data = f.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    meta = header.pop("__metadata__", {})
    body = data[8 + size:]
    return {k: (v["dtype"], v["shape"], body[v["data_offsets"][0]:v["data_offsets"][1]]) for k, v in header.items()}, meta


def write_safetensors(path, tensors, meta=None, header=None):
    """tensors: key -> (dtype, shape, bytes).  header: the exact JSON text instead of a made one."""
    body, table = b"", {}
    for key, (dtype, shape, data) in tensors.items():
        table[key] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    if meta:
        table["__metadata__"] = meta
    text = (header if header is not None else json.dumps(table)).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + body)


def weights(path):
    """The tensors of a checkpoint as comparable bytes."""
    return {k: v for k, v in read_safetensors(path)[0].items()}


def main(*tests):
    """Runs every test in a folder of its own; prints what failed; exit 1 if any did."""
    failed = 0
    for test in tests:
        folder = tempfile.mkdtemp(prefix="tlmc-test-")
        try:
            test(folder)
            print(f"ok {test.__name__}")
        except (Failure, AssertionError) as e:
            failed += 1
            print(f"FAILED {test.__name__}: {e}")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failed else 0)
