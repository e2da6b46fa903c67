#!/usr/bin/env bash
# Installs what is missing, checks the formatting, builds, and runs the tests; ends with ctest's summary.
#   tools/check.sh         all tests except those labelled `long`: every case where others take a few, and builds of copies
#   tools/check.sh --all   every test; those not long also in the AddressSanitizer + UBSan and the ThreadSanitizer builds; and what
#                          tools/tidy.sh checks
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
all=false
case ${1:-} in
  '') ;;
  --all) all=true ;;
  *) echo "usage: tools/check.sh [--all]" >&2; exit 2 ;;
esac

# Runs a preset's tests: prints only ctest's closing summary if all pass, all its output otherwise.
run_tests() {  # PRESET DIR [CTEST_OPTION…]
  local preset=$1 log=$2/tests.log
  printf 'testing %s/\n' "$2"
  shift 2
  if ! ctest --preset "$preset" "$@" --no-label-summary -j "$(nproc)" >"$log" 2>&1; then
    cat "$log"
    exit 1
  fi
  sed -n '/^[0-9]*% tests passed/,$p' "$log"
}

tools/setup.sh --python
tools/format.sh --check
tools/build.sh default
if $all; then
  tools/tidy.sh
  # The runtime under ThreadSanitizer runs plans made by the compiler just built.
  tools/build.sh tsan
  # The long ones take the same ways with more data.
  run_tests tsan build-tsan -LE '^long$'
  tools/build.sh asan
  run_tests asan build-asan -LE '^long$'
  run_tests default build
else
  run_tests default build -LE '^long$'
fi
