#!/usr/bin/env python3
"""Time and peak memory of tlmc as a whole process: quickstart, and plan and emit of the 12-layer gpt2.tlm with its
backward pass.  usage: bench/compile_time.py PATH/TO/tlmc [runs].  Prints medians and a table row for RESULTS.md."""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CASES = [
    ("check quickstart_mlp", ["check", "quickstart_mlp"]),
    ("plan quickstart_mlp", ["plan", "quickstart_mlp"]),
    ("emit quickstart_mlp", ["emit", "quickstart_mlp", "-o", "OUT"]),
    ("emit --single-file quickstart_mlp", ["emit", "quickstart_mlp", "-o", "OUT", "--single-file"]),
    ("plan gpt2 (12 layers, training)", ["plan", "gpt2"]),
    ("emit gpt2 (12 layers, training)", ["emit", "gpt2", "-o", "OUT"]),
]


def measure(argv):
    start = time.perf_counter()
    p = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(p.pid, 0)
    return time.perf_counter() - start, usage.ru_maxrss / 1024, status


def main():
    tlmc, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 11
    out = tempfile.mkdtemp()
    print(f"| command | median | min | max | peak memory |\n|---|---|---|---|---|")
    for title, words in CASES:
        argv = [tlmc] + [os.path.join(SOURCE, "examples", w, w + ".tlm") if w in ("quickstart_mlp", "gpt2") else out if w == "OUT" else w for w in words]
        rows = [measure(argv) for _ in range(runs + 1)][1:]                 # the first one warms the caches
        if any(status for _, _, status in rows):
            sys.exit(f"{title}: exit status {rows[0][2]}")
        times = [1000 * t for t, _, _ in rows]
        print(f"| {title} | {statistics.median(times):.1f} ms | {min(times):.1f} | {max(times):.1f} | {max(m for _, m, _ in rows):.1f} MB |")
    shutil.rmtree(out)


if __name__ == "__main__":
    main()
