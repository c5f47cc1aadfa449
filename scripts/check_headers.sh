#!/usr/bin/env bash
# Every header compiles alone, twice included; the ones that products see also as C++17.
# The man page names every option of the command.
set -euo pipefail
cd "$(dirname "$0")/.."
includes=(-Isupport -Iir -Ifrontend -Iplanner -Icodegen -Iruntime -Ikernels_cpu -Ikernels_cuda -Idriver)
cuda=${CUDA_HOME:-${CUDA_PATH:-/usr/local/cuda}}/include # for the private headers of the CUDA runtime
if [ -e "$cuda/cuda_runtime_api.h" ]; then
    includes+=(-isystem "$cuda")
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0
while IFS= read -r header; do
    name=${header#*/}
    if [ ! -e "$cuda/cuda_runtime_api.h" ] && [[ $name == cuda_probe.h || $name == cuda_session.h ]]; then
        echo "headers: $header is left out, there are no CUDA headers"
        continue
    fi
    printf '#include "%s"\n#include "%s"\ntypedef int tlmc_header_stands_alone;\n' "$name" "$name" >"$work/alone.c"
    gcc -std=c11 -Wall -Wextra -Werror "${includes[@]}" -fsyntax-only "$work/alone.c" || { echo "$header does not stand alone" >&2; exit 1; }
    count=$((count + 1))
done < <(git ls-files -co --exclude-standard 'support/*.h' 'ir/*.h' 'frontend/*.h' 'planner/*.h' 'codegen/*.h' 'runtime/*.h' 'kernels_cpu/*.h' kernels_cuda/blocks.h 'driver/*.h')
for header in tlm.h tlm_pool.h tlm_program.h tlm_kernel.h tlm_cuda.h tlm_cublas.h blocks.h; do
    printf '#include "%s"\nint main() { return 0; }\n' "$header" >"$work/alone.cpp"
    g++ -std=c++17 -Wall -Wextra -Werror -Iruntime -Ikernels_cuda -fsyntax-only "$work/alone.cpp" || { echo "$header is no C++17" >&2; exit 1; }
done
sed -n 's/^OPTION([A-Z_]*, *"\([a-z-]*\)".*/\1/p' driver/options.def | while read -r option; do
    grep -q -- "Fl -$option\b" docs/tlmc.1 || { echo "docs/tlmc.1 lacks --$option" >&2; exit 1; }
done
echo "headers: $count stand alone"
