#!/usr/bin/env bash
# Reads the #include lines of every room and fails on an arrow that the design does not have.
#   support: nothing; ir: support; frontend: ir, support; planner: ir, support; codegen: planner, ir, support;
#   runtime: itself; kernels_*: runtime; driver: all but tests; emitted code: runtime and one kernels folder.
# Headers of the CUDA toolkit, in <> or in quotes: only runtime/cuda_* (and tests and bench) include them.
set -euo pipefail
cd "$(dirname "$0")/.."
python3 - <<'PY'
import os, re, subprocess, sys
ALLOWED = {
    "support": {"support"}, "ir": {"ir", "support"}, "frontend": {"frontend", "ir", "support"},
    "planner": {"planner", "ir", "support"}, "codegen": {"codegen", "planner", "ir", "support"},
    "runtime": {"runtime"}, "kernels_cpu": {"kernels_cpu", "runtime"}, "kernels_cuda": {"kernels_cuda", "runtime"},
    "driver": {"driver", "codegen", "planner", "frontend", "ir", "support", "runtime"},
}
files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True).stdout.split("\n")
homes = {}
for f in files:
    room = f.split("/")[0]
    if room in ALLOWED and f.endswith((".c", ".h", ".def", ".inc", ".cuh")):
        below = f[len(room) + 1:]
        homes.setdefault(below, set()).add(room)
        homes.setdefault(os.path.basename(f), set()).add(room)
TOOLKIT = re.compile(r"(cu|nvrtc|nvJitLink|nvml|nvtx|cooperative_groups|thrust/|cub/)")
bad, seen = 0, 0
for f in files:
    room = f.split("/")[0]
    if room not in ALLOWED or not f.endswith((".c", ".h", ".def", ".inc", ".y", ".l", ".cu", ".cuh")) or not os.path.exists(f):
        continue
    for number, line in enumerate(open(f, encoding="utf-8", errors="replace"), 1):
        m = re.match(r'\s*#\s*include\s+(["<])([^">]+)[">]', line)
        if not m:
            continue
        seen += 1
        header = m.group(2)
        target = homes.get(header) if m.group(1) == '"' else None
        if target and not target & ALLOWED[room]:
            print(f"{f}:{number}: {room} may not include \"{header}\" of {', '.join(sorted(target))}")
            bad += 1
        if not target and TOOLKIT.match(header) and not f.startswith("runtime/cuda_"):
            print(f"{f}:{number}: only runtime/cuda_* may include <{header}> of the CUDA toolkit")
            bad += 1
print(f"arrows: {seen} includes, {bad} not allowed")
sys.exit(bad != 0)
PY
