#!/usr/bin/env bash
# The GPU suite, in two halves, since machines with a GPU often have no compiler for it.
#   tools/gpu-suite.sh pack [FOLDER]   builds, and leaves programs, libraries and compiled plans in FOLDER (build/gpu)
#   tools/gpu-suite.sh [FOLDER]        runs all GPU tests from FOLDER; status 77 and the reason where there is no GPU
#   tools/gpu-suite.sh bench [FOLDER]  runs the GPU measurements next to PyTorch (SHEAF_TORCH_PYTHON) from FOLDER
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case ${1:-} in
  pack)
    tools/setup.sh
    tools/build.sh default
    exec python3 tests/gpu/pack.py build "${2:-build/gpu}"
    ;;
  bench)
    exec python3 bench/gpu.py "${2:-build/gpu}"
    ;;
  *)
    exec python3 tests/gpu/suite.py "${1:-build/gpu}"
    ;;
esac
