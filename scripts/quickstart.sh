#!/usr/bin/env bash
# Builds tlmc, compiles examples/quickstart_mlp, trains it for 200 steps with seed 2026 and prints its report, and where tlmc is.
# On Debian it installs what is missing (as root); elsewhere it prints what is needed.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

need "tlmc" gcc libc6-dev cmake ninja-build flex bison pkg-config libjansson-dev
say "building tlmc in build/quickstart"
quietly build/quickstart/configure.log cmake -S . -B build/quickstart -G Ninja -DCMAKE_BUILD_TYPE=Release -DTLMC_TESTS=OFF
quietly build/quickstart/build.log cmake --build build/quickstart --target tlmc
tlmc=$PWD/build/quickstart/driver/tlmc

cd examples/quickstart_mlp
say "compiling quickstart_mlp.tlm and training it"
"$tlmc" build quickstart_mlp.tlm -o ../../build/quickstart/quickstart_mlp >/dev/null
../../build/quickstart/quickstart_mlp --seed 2026 --show-backend
say ""
say "tlmc is $tlmc, the program build/quickstart/quickstart_mlp; README.md, Install: how to put tlmc where it is found"
