"""Saving is all or nothing: killed at any point, on a full disk or in an unwritable place, the old checkpoint stays whole."""
import glob

from lib import *


def prepare(folder):
    program = build(example("quickstart_mlp"), folder + "/program")
    cwd = os.path.join(EXAMPLES, "quickstart_mlp")
    os.mkdir(folder + "/out")
    path = folder + "/out/w.safetensors"
    run([program, "--steps", "5", "--seed", "1", "--save", path], cwd=cwd).ok()
    run(["cc", "-shared", "-fPIC", "-O1", "-o", folder + "/fault.so", SOURCE + "/tests/programs/enospc.c", "-ldl"]).ok()
    return program, cwd, path


def faulty(folder, after, kill):
    env = {"LD_PRELOAD": folder + "/fault.so", "TLM_FAULT_DIR": folder + "/out", "TLM_FAULT_AFTER": str(after)}
    if kill:
        env["TLM_FAULT_KILL"] = "1"
    return env


def full_disk(folder):
    program, cwd, path = prepare(folder)
    old = open(path, "rb").read()
    for after in [0, 1, 7, 8, 9, 100, len(old) // 2, len(old) - 1]:
        r = run([program, "--steps", "9", "--seed", "2", "--save", path], cwd=cwd, env=faulty(folder, after, False))
        check(r.status in (1, 2), f"full disk after {after} bytes: status {r.status}")
        check("No space left" in r.err and "w.safetensors" in r.err, f"full disk after {after} bytes: {r.err}")
        check(open(path, "rb").read() == old, f"full disk after {after} bytes: the old checkpoint changed")
        equal(os.listdir(folder + "/out"), ["w.safetensors"], f"files left after {after} bytes")


def killed(folder):
    program, cwd, path = prepare(folder)
    old = open(path, "rb").read()
    run([program, "--steps", "9", "--seed", "2", "--save", folder + "/new.safetensors"], cwd=cwd).ok()
    new = open(folder + "/new.safetensors", "rb").read()
    check(old != new, "the two checkpoints are equal: the test cannot fail")
    for after in [0, 1, 8, 9, len(new) // 3, len(new) - 1, len(new)]:
        run([program, "--steps", "9", "--seed", "2", "--save", path], cwd=cwd, env=faulty(folder, after, True))
        check(open(path, "rb").read() in (old, new), f"killed after {after} bytes: the checkpoint is neither old nor new")
    run([program, "--steps", "0", "--load", path], cwd=cwd).ok()


def unwritable(folder):
    program, cwd, path = prepare(folder)
    r = run([program, "--steps", "2", "--save", path + "/below.safetensors"], cwd=cwd)
    check(r.status in (1, 2) and "below.safetensors" in r.err, f"a parent that is a file: {r.status} {r.err}")
    r = run([program, "--steps", "2", "--save", folder + "/none/w.safetensors"], cwd=cwd)
    check(r.status in (1, 2) and "w.safetensors" in r.err, f"a missing folder: {r.status} {r.err}")
    if os.geteuid() != 0 or not has("setpriv"):
        print("not run: another user's folder: needs root and setpriv")
        return
    os.chmod(folder, 0o755)
    os.chmod(folder + "/out", 0o755)
    old = open(path, "rb").read()
    r = run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, "--steps", "2", "--save", path], cwd=cwd)
    check(r.status in (1, 2) and "Permission denied" in r.err, f"another user: {r.status} {r.err}")
    check(open(path, "rb").read() == old, "another user changed the checkpoint")


main(full_disk, killed, unwritable)
