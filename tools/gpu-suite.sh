#!/usr/bin/env bash
# The GPU suite, in two halves, since machines with a GPU often have no compiler for it.
#   tools/gpu-suite.sh pack [FOLDER]   builds, and leaves programs, libraries and compiled plans in FOLDER (build/gpu)
#   tools/gpu-suite.sh [FOLDER [OPTION…]]        runs the GPU tests from FOLDER; status 77 and the reason if there is no GPU
#   tools/gpu-suite.sh bench [FOLDER [OPTION…]]  runs the GPU measurements next to PyTorch (SHEAF_TORCH_PYTHON) from FOLDER
# The options are those of tests/gpu/suite.py and bench/gpu.py; docs/gpu-visits.md says what to run in which order.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case ${1:-} in
  pack)
    tools/setup.sh
    tools/build.sh default
    exec python3 tests/gpu/pack.py build "${2:-build/gpu}"
    ;;
  bench)
    exec python3 bench/gpu.py "${2:-build/gpu}" "${@:3}"
    ;;
  *)
    exec python3 tests/gpu/suite.py "${1:-build/gpu}" "${@:2}"
    ;;
esac
