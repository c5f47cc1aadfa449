"""compute-sanitizer's four tools over whole programs and a few ops; every tool that is not there is named.

memcheck: accesses out of bounds and failed calls; racecheck: shared memory; initcheck: device memory read before it was
written; synccheck: barriers.  In a rehearsal the programs run by themselves: only the way there is tried.
"""
import shutil

from gpu import *

TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]
SMALL_GPT2 = ["-D", "T=16", "-D", "C=64", "-D", "heads=4", "-D", "L=1", "-D", "vocab=100", "-D", "ctx=32"]
MODELS = {"quickstart_mlp": ([], 2), "gpt2": (SMALL_GPT2, 1)}
programs, results = {}, {}


def sanitizer():
    for path in (shutil.which("compute-sanitizer"), CUDA + "/bin/compute-sanitizer", CUDA + "/compute-sanitizer/compute-sanitizer"):
        if path and os.access(path, os.X_OK):
            return path
    return None


def build_all():
    programs.update(parallel({n: lambda n=n: build(example(n), "sanitizer-" + n, MODELS[n][0]) for n in MODELS}))
    for name, made in programs.items():
        check(not isinstance(made, Failure), f"{name}: {made}")
    return f"{len(programs)} programs"


def clean(tool, command_line):
    """The tool ends with status 9 when it found something, else with the program's own."""
    argv = [] if REHEARSAL else [sanitizer(), "--tool", tool, "--error-exitcode", "9", "--launch-timeout", "60"]
    p = command([*argv, *command_line], status=None, timeout=100)
    lines = [line for line in p.stdout.split("\n") if line.startswith("=========")]
    check(p.returncode == 0, f"exit status {p.returncode}\n" + "\n".join(lines[:20]) + p.stderr[-1500:])
    return lines[-1].strip("= ") if lines else "ran"


def jobs():
    """Each tool over each program, kernel by kernel; memcheck also over the captured graph."""
    found = {}
    for name, (_, steps) in MODELS.items():
        for tool, word in [(tool, "no-graph") for tool in TOOLS] + [("memcheck", "graph")]:
            line = [os.path.join(WORK, "sanitizer-" + name, "program"), os.path.join(WORK, f"sanitizer-{name}-{tool}-{word}.dump"), steps, word]
            found[f"{tool}/{name}, {word}"] = lambda t=tool, c=line: clean(t, c)
    return found


def reported(name):
    """The tools are slow and wait much: they run side by side, here is what they said."""
    def test():
        result = results[name]
        if isinstance(result, Failure):
            raise result
        return result
    test.__name__ = name
    return test


def run_all():
    results.update(parallel(jobs()))
    return f"{len(results)} runs"


if not REHEARSAL and not sanitizer():
    print(f"compute-sanitizer is not installed ({', '.join(TOOLS)} did not run): looked on PATH and in {CUDA}")
    sys.exit(77)
main(build_all, run_all, *map(reported, jobs()))
