#!/usr/bin/env bash
# What needs a GPU, in one command of under 8 minutes: builds tlmc, compares whole programs and every op on the device
# with the CPU bit for bit, runs compute-sanitizer's tools where they are installed, and prints a table of timings.
#
#   scripts/check_gpu.sh             everything; the table is also left in build/gpu/check/timings.md
#   scripts/check_gpu.sh --short     one program and a few ops, no timings: ctest's gpu/check
#   scripts/check_gpu.sh --prepare   builds what the check needs, here, without a GPU, into build/gpu-ready (a few MB): for a
#                                    machine with a GPU but no flex, bison, cmake or network.  Take the checkout and that
#                                    folder there; it is used while the sources are the ones it was made from.
#   --build DIR                      use a build that is there instead of build/gpu
#
# Without a usable GPU it says why and ends with 77, which ctest counts as skipped.  With one: 0 when all passed, 1 when
# something failed (it goes on after a failure), 2 when something to build with is missing.
#   TLM_GPU_REHEARSAL=1  no GPU: programs run on tests/cuda_host in place of libcudart, to try this script
#   TLM_GPU_SECONDS=450  what all parts together may take
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
. scripts/lib.sh

short=0 prepare=0 build=
while [ $# -gt 0 ]; do
    case $1 in
    --short) short=1 ;;
    --prepare) prepare=1 ;;
    --build) build=${2:?} && shift ;;
    *) die "check_gpu.sh: unknown option '$1'" ;;
    esac
    shift
done
rehearsal=${TLM_GPU_REHEARSAL:-0}
begin=$SECONDS
limit=${TLM_GPU_SECONDS:-450}
given=$build
build=$(realpath -m "${build:-build/gpu}")
ready=$(realpath -m build/gpu-ready)
work=$build/check
jobs=$(nproc)
mkdir -p "$work"

# ---- the toolkit

find_toolkit() {
    local nvcc root
    nvcc=$(command -v nvcc || true)
    for root in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda ${nvcc:+"$(dirname "$(dirname "$(realpath "$nvcc")")")"} /usr; do
        [ -n "$root" ] || continue
        for headers in "$root/include" "$root/targets/x86_64-linux/include" "$root/targets/sbsa-linux/include"; do
            [ -f "$headers/cuda_runtime_api.h" ] || continue
            for libraries in "$root/lib64" "$root/lib" "$root/targets/x86_64-linux/lib" "$root/targets/sbsa-linux/lib" "$root"/lib/*-linux-gnu; do
                [ -f "$libraries/libcudart_static.a" ] && cuda=$root && return 0
            done
        done
    done
    return 1
}

if ! find_toolkit; then
    if [ -e /dev/nvidiactl ]; then
        die "there is an NVIDIA GPU (/dev/nvidiactl), but no CUDA toolkit with cuda_runtime_api.h and libcudart_static.a: looked in \$CUDA_HOME, \$CUDA_PATH, /usr/local/cuda, beside nvcc and in /usr"
    fi
    say "skipped: no CUDA toolkit (looked in \$CUDA_HOME, \$CUDA_PATH, /usr/local/cuda, beside nvcc and in /usr) and no NVIDIA device"
    exit 77
fi

# ---- the GPU, asked through the CUDA runtime as our programs do

compiler=${CC:-cc}
command -v "$compiler" >/dev/null || die "missing: a C compiler ($compiler); Debian: apt-get install gcc libc6-dev"
command -v python3 >/dev/null || die "missing: python3"

detect() {
    quietly "$work/probe.log" "$compiler" -std=c11 -O1 -D_POSIX_C_SOURCE=200809L -Iruntime -isystem "$headers" tests/gpu/probe.c \
        runtime/cuda_guard.c runtime/cuda_probe.c runtime/cuda_buffer.c "$libraries/libcudart_static.a" -ldl -lrt -lpthread -lm -o "$work/probe" || exit 2
    "$work/probe" >"$work/device.txt" 2>"$work/device.err"
    case $? in
    0) ;;
    77) say "skipped: $(cat "$work/device.err")" && exit 77 ;;
    *) die "the GPU does not answer: $(cat "$work/device.err")" ;;
    esac
}

if [ "$prepare" = 1 ]; then
    say "preparing $build for a machine with a GPU"
elif [ "$rehearsal" = 1 ]; then
    say "== rehearsal, not a GPU: programs run on this processor"
    printf 'name=rehearsal, not a GPU\narch=90\n' >"$work/device.txt"
else
    detect
    say "== $(sed -n 's/^name=//p' "$work/device.txt"), sm_$(sed -n 's/^arch=//p' "$work/device.txt"), driver $(sed -n 's/^driver=//p' "$work/device.txt"), toolkit in $cuda"
fi

# ---- tlmc: a prepared one, or built here

missing_tools() {
    command -v cmake >/dev/null || echo cmake
    command -v flex >/dev/null || echo flex
    command -v bison >/dev/null || echo bison
    command -v pkg-config >/dev/null || echo pkg-config
    pkg-config --exists jansson 2>/dev/null || echo libjansson-dev
    pkg-config --exists cmocka 2>/dev/null || echo libcmocka-dev
    { [ "$rehearsal" != 1 ] || command -v g++ >/dev/null; } || echo g++
}

install_tools() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    say "installing $*"
    DEBIAN_FRONTEND=noninteractive timeout 40 apt-get update -qq >"$work/apt.log" 2>&1 &&
        DEBIAN_FRONTEND=noninteractive timeout 80 apt-get install -y -qq --no-install-recommends "$@" >>"$work/apt.log" 2>&1
}

targets=(tlmc tlm tlm_cuda compile_cu run_ops)
build_tlmc() {
    local generator=() archive
    command -v ninja >/dev/null && generator=(-G Ninja)
    # jansson into the command, cmocka beside it: the build runs where neither is installed
    archive=$(pkg-config --variable=libdir jansson)/libjansson.a
    [ -f "$archive" ] && generator+=("-Dpkgcfg_lib_JANSSON_jansson=$archive")
    quietly "$build/configure.log" cmake -S . -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DTLMC_CUDA=ON "-DCUDAToolkit_ROOT=$cuda" || return 1
    [ -f "$libraries/libcublas.so" ] && targets+=(tlm_cublas)
    [ "$rehearsal" = 1 ] && targets+=(tlm_host_plain)
    quietly "$build/build.log" cmake --build "$build" -j "$jobs" --target "${targets[@]}" || return 1
}

# What a prepared folder was made from.
sources() {
    find CMakeLists.txt cmake support ir frontend planner codegen runtime kernels_cpu kernels_cuda driver tests/ops tests/gpu -type f \
        ! -name '*.py' ! -name '*.md' -print0 | LC_ALL=C sort -z | xargs -0 cat | sha256sum | cut -d' ' -f1
}

make_ready() {
    local file
    rm -rf "$ready"
    for file in driver/tlmc runtime/libtlm.a runtime/libtlm_cuda.a runtime/libtlm_cublas.a tests/gpu/compile_cu tests/gpu/run_ops \
        tests/ops/names.txt tests/cuda_host/libtlm_host_plain.a; do
        mkdir -p "$ready/$(dirname "$file")"
        [ ! -f "$build/$file" ] || cp "$build/$file" "$ready/$file"
    done
    mkdir "$ready/lib"
    cp -L "$(ldd "$build/tests/gpu/run_ops" | awk '/libcmocka/ { print $3 }')" "$ready/lib/" || die "no libcmocka to take along"
    sources >"$ready/sources"
}

if [ -z "$given" ] && [ "$prepare" = 0 ] && [ -f "$ready/sources" ] && [ "$(cat "$ready/sources")" = "$(sources)" ]; then
    build=$ready
    say "taking the prepared build in $build"
elif [ -z "$given" ]; then
    missing=$(missing_tools)
    if [ -n "$missing" ]; then
        # shellcheck disable=SC2086
        install_tools $missing || true
        missing=$(missing_tools)
    fi
    # shellcheck disable=SC2086
    [ -z "$missing" ] || die "missing, by Debian names: $(echo $missing).  Install them, or run scripts/check_gpu.sh --prepare on a machine that has them and bring build/gpu-ready"
    build_tlmc || exit 1
fi
if [ "$prepare" = 1 ]; then
    make_ready
    say "made $ready ($(du -sh "$ready" | cut -f1)); on the machine with the GPU: scripts/check.sh --gpu"
    exit 0
fi
export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
"$build/driver/tlmc" --version >"$work/version.txt" 2>&1 || die "$build/driver/tlmc does not run here: $(cat "$work/version.txt")"
if grep -q 'CUDA toolkit: none' "$work/version.txt"; then
    say "skipped: $build/driver/tlmc was built without the CUDA toolkit"
    exit 77
fi
say "build: $((SECONDS - begin)) s, $(head -n 1 "$work/version.txt")"

# ---- the parts

export TLM_GPU_TLMC=$build/driver/tlmc TLM_GPU_BUILD=$build TLM_GPU_SOURCE=$PWD TLM_GPU_WORK=$work TLM_GPU_CUDA=$cuda
export TLM_GPU_HEADERS=$headers TLM_GPU_LIBRARIES=$libraries TLM_GPU_JOBS=$jobs TLM_GPU_SHORT=$short TLM_GPU_REHEARSAL=$rehearsal
TLM_GPU_ARCH=$(sed -n 's/^arch=//p' "$work/device.txt")
export TLM_GPU_ARCH
summary=() failed=0

# part NAME SECONDS COMMAND...: a failing or slow part is named at the end; the others run.
part() {
    local name=$1 most=$2 left=$((limit - SECONDS + begin)) start=$SECONDS status
    shift 2
    say "== $name"
    if [ "$left" -lt 5 ]; then
        summary+=("$name: not run, out of time ($limit s)") failed=1
        return
    fi
    [ "$rehearsal" = 1 ] || [ "$most" -lt "$left" ] || most=$left
    timeout --kill-after=5 "$most" "$@"
    status=$?
    case $status in
    0) summary+=("$name: passed, $((SECONDS - start)) s") ;;
    77) summary+=("$name: skipped, $((SECONDS - start)) s") ;;
    124 | 137) summary+=("$name: FAILED, stopped after $most s") failed=1 ;;
    *) summary+=("$name: FAILED, $((SECONDS - start)) s") failed=1 ;;
    esac
}

[ "$rehearsal" = 1 ] && limit=86400
slow=$((rehearsal == 1 ? 10 : 1))
part "whole programs" $((120 * slow)) python3 -B tests/gpu/run_programs.py
part "ops" $((150 * slow)) python3 -B tests/gpu/run_ops.py
if [ "$short" = 0 ]; then
    part "timings" $((150 * slow)) python3 -B bench/gpu/bench.py
    part "compute-sanitizer" $((120 * slow)) python3 -B tests/gpu/run_sanitizer.py
fi

say "== summary of scripts/check_gpu.sh, $((SECONDS - begin)) s"
printf '%s\n' "${summary[@]}"
exit "$failed"
