#!/usr/bin/env bash
# Every kernel that an available CPU capsule names exists: one C file that takes the address of each symbol after
# including its header must compile.  In: a build folder and, optionally, a compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: check_symbols.sh BUILD [CC]}
cc=${2:-cc}
catalog=$(find "$build/tests/unit" -name test_catalog -type f | head -n 1)
[ -n "$catalog" ] || { echo "$build has no test_catalog: build it first" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$catalog" --symbols | LC_ALL=C sort -u >"$work/symbols"
{
    awk '{ print "#include \"" $1 "\"" }' "$work/symbols" | sort -u
    echo "typedef void any_function(void);"
    echo "extern any_function *const kernels[];"
    echo "any_function *const kernels[] = {"
    awk '{ print "    (any_function *)" $2 ", /* " $3 " */" }' "$work/symbols"
    echo "};"
} >"$work/symbols.c"
"$cc" -std=c11 -Iruntime -Ikernels_cpu -fsyntax-only "$work/symbols.c"
echo "symbols: $(wc -l <"$work/symbols") kernels of the registry exist"
