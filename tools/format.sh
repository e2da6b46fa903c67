#!/usr/bin/env bash
# Formats every C++ and CUDA file of the tree as .clang-format says.
#   tools/format.sh           writes the files
#   tools/format.sh --check   names the places that differ, writes nothing, exits with 1 if there are any
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case ${1:-} in
  '') mode=(-i) ;;
  --check) mode=(--dry-run --Werror) ;;
  *) echo "usage: tools/format.sh [--check]" >&2; exit 2 ;;
esac
git ls-files -z '*.cpp' '*.h' '*.cu' '*.cuh' | xargs -0 -n 64 -P "$(nproc)" clang-format-19 "${mode[@]}"
