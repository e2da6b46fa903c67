#!/usr/bin/env bash
# Installs what is missing, checks the formatting, builds, and runs every test; ends with ctest's summary.
#   tools/check.sh         the tests
#   tools/check.sh --all   also the AddressSanitizer + UBSan and ThreadSanitizer builds and their tests
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
all=false
case ${1:-} in
  '') ;;
  --all) all=true ;;
  *) echo "usage: tools/check.sh [--all]" >&2; exit 2 ;;
esac

# Runs a preset's tests: only ctest's closing summary where all is well, all it said otherwise.
run_tests() {  # PRESET DIR
  local log=$2/tests.log
  printf 'testing %s/\n' "$2"
  if ! ctest --preset "$1" --no-label-summary -j "$(nproc)" >"$log" 2>&1; then
    cat "$log"
    exit 1
  fi
  sed -n '/^[0-9]*% tests passed/,$p' "$log"
}

tools/setup.sh --python
tools/format.sh --check
tools/build.sh default
if $all; then
  # The runtime under ThreadSanitizer runs plans that the compiler just built makes.
  tools/build.sh tsan
  run_tests tsan build-tsan
  tools/build.sh asan
  run_tests asan build-asan
fi
run_tests default build
