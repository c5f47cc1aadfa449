#!/usr/bin/env bash
# Every C, C++ and CUDA file is as clang-format 14 lays it out; --fix rewrites them.  Tables (.def) are aligned by hand.
set -euo pipefail
cd "$(dirname "$0")/.."
format=$(command -v clang-format-14 || command -v clang-format)
"$format" --version | grep -q 'version 14\.' || { echo "clang-format 14 is needed: layout differs between versions" >&2; exit 2; }
mapfile -t files < <(git ls-files -co --exclude-standard '*.c' '*.h' '*.cpp' '*.cu' '*.cuh' | grep -v '^tests/golden/')
if [ "${1:-}" = --fix ]; then
    "$format" -i "${files[@]}"
else
    "$format" --dry-run -Werror "${files[@]}"
    echo "layout: ${#files[@]} files"
fi
