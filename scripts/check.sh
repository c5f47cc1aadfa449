#!/usr/bin/env bash
# Everything that CI runs: installs what is missing (Debian, as root), checks layout and arrows, builds with clang, with
# ASan + UBSan and with gcc (warnings are errors), runs the tests of each, checks that the tree stays clean, and ends
# with ctest's own summary.  When nothing changed since the last success it says so and shows that summary; --force
# runs it all again.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

# The check of the device, alone: scripts/check_gpu.sh says what it does.
[ "${1:-}" != --gpu ] || exec scripts/check_gpu.sh "${@:2}"

need "the test suite" git gcc g++ libc6-dev libgomp1 clang libclang-rt-14-dev clang-format-14 cmake ninja-build flex bison \
    pkg-config libjansson-dev libcmocka-dev python3 binutils gawk

fingerprint() {
    { git ls-files -z -co --exclude-standard | LC_ALL=C sort -z | xargs -0 sha256sum 2>/dev/null; gcc --version; clang --version; } | sha256sum | cut -d' ' -f1
}
stamp=build/check.stamp
now=$(fingerprint)
if [ "${1:-}" != --force ] && [ -f "$stamp" ] && [ "$(head -n 1 "$stamp")" = "$now" ]; then
    say "nothing changed since the last success (--force runs it again):"
    tail -n +2 "$stamp"
    exit 0
fi
dirty_before=$(git status --porcelain)
jobs=$(nproc)
export CTEST_PARALLEL_LEVEL=$jobs

say "== layout, arrows, headers"
scripts/check_format.sh
scripts/check_arrows.sh
scripts/check_headers.sh

configure() { quietly "build/$1/configure.log" cmake -S . -B "build/$1" -G Ninja -DTLMC_WERROR=ON "${@:2}"; }
build() { quietly "build/$1/build.log" cmake --build "build/$1" -j "$jobs"; }

say "== clang, warnings as errors, without CUDA"
configure clang -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTLMC_CUDA=OFF
build clang
ctest --test-dir build/clang -L 'unit|golden' --output-on-failure --no-tests=error | tail -n 12
ctest --test-dir build/clang -R 'programs/(cuda|oracle|cli|plan|install|pages)' --output-on-failure --no-tests=error | tail -n 12

say "== gcc with ASan and UBSan"
configure asan -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=Debug -DTLMC_SANITIZE=address,undefined
build asan
ctest --test-dir build/asan -L 'unit|golden|fuzz|kernels|cuda' -LE ops --output-on-failure --no-tests=error | tail -n 12
# device code of every op but the pointwise ones, whose kernels are all one shape (gelu); whole CUDA programs
ctest --test-dir build/asan -R '^(programs/cuda_asan$|(ops/(matmul|reduce_.*|argmax|softmax.*|log_softmax.*|layer_norm.*|mse_.*|cross_entropy.*|gather|embedding|scatter_add|permute|broadcast|copy|concat|slice.*|.*_update|store|accumulate|global_norm|gelu|bernoulli_mask|rand_uniform|iota)|groups/.*)/native_cuda$)' \
    --output-on-failure --no-tests=error | tail -n 12

say "== gcc, warnings as errors, all tests"
configure gcc -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=RelWithDebInfo
build gcc
scripts/check_evidence.sh build/gcc
build/gcc/driver/tlmc ops --markdown | cmp - docs/ops.md || die "docs/ops.md is not current: build/gcc/driver/tlmc ops --markdown > docs/ops.md"
mkdir -p build
ctest --test-dir build/gcc --output-on-failure --no-tests=error | tee build/check.log | grep -vE '^ *(Start|[0-9]+/[0-9]+ Test)'

[ "$(git status --porcelain)" = "$dirty_before" ] || die "the run changed the work tree: $(git status --porcelain)"
{ echo "$now"; sed -n '/tests passed/,$p' build/check.log; } >"$stamp"
