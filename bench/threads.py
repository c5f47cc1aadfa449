#!/usr/bin/env python3
"""Wall time of whole training programs: one alone, and two at once, as when a machine is shared.

usage: bench/threads.py ROUNDS NAME=PATH/TO/tlmc[,FLAG...] [NAME=...]; a flag goes to every program of that build, as in
one=build/driver/tlmc,--threads,1.  Each tlmc builds each model; the builds take turns within a round.  Prints medians
and the table for RESULTS.md; two at once is the time until both are done.  A program that needs more than LIMIT seconds
is stopped and its time printed as that.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIMIT = 60
CASES = [("quickstart_mlp", [], 20000), ("digits_mlp", [], 300), ("char_gpt", [], 20),
         ("gpt2", ["-D", "L=6", "-D", "C=384", "-D", "heads=6"], 2)]


def measure(program, flags, model, steps, at_once):
    argv = [program, "--steps", str(steps), *flags]
    where = os.path.join(SOURCE, "examples", model)
    start = time.perf_counter()
    running = [subprocess.Popen(argv, cwd=where, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(at_once)]
    for p in running:
        try:
            _, text = p.communicate(timeout=max(0.1, LIMIT - (time.perf_counter() - start)))
        except subprocess.TimeoutExpired:
            p.kill()
            p.communicate()
            continue
        if p.returncode:
            sys.exit(f"{argv}: exit status {p.returncode}\n{text.decode()}")
    return time.perf_counter() - start


def main():
    rounds, builds = int(sys.argv[1]), []
    for word in sys.argv[2:]:
        name, _, rest = word.partition("=")
        tlmc, *flags = rest.split(",")
        builds.append((name, tlmc, flags))
    folder = tempfile.mkdtemp()
    print("| program | build | alone | min | max | two at once | min | max | two / alone |\n|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for model, options, steps in CASES:
        programs, times = {}, {}
        for name, tlmc, _ in builds:
            programs[name] = os.path.join(folder, f"{model}.{name}")
            subprocess.run([tlmc, "build", os.path.join(SOURCE, "examples", model, model + ".tlm"), *options, "-o", programs[name]],
                           check=True, stdout=subprocess.DEVNULL)
        for turn in range(rounds):
            for name, _, flags in builds[turn % len(builds):] + builds[:turn % len(builds)]:
                for at_once in (1, 2):
                    times.setdefault((name, at_once), []).append(measure(programs[name], flags, model, steps, at_once))
        for name, _, _ in builds:
            alone, two = (times[name, n] for n in (1, 2))
            cells = [f"{x:.3f} s" for t in (alone, two) for x in (statistics.median(t), min(t), max(t))]
            print(f"| {' '.join([model, *options[1::2]])}, {steps} steps | {name} | {' | '.join(cells)} | {statistics.median(two) / statistics.median(alone):.1f} |", flush=True)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
