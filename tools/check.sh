#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test; ends with ctest's summary.
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

# Runs ctest in a build directory: only its closing summary where all is well, all it said otherwise.
run_tests() {  # DIR [ctest arguments]
  local dir=$1 log=$1/tests.log
  shift
  printf 'testing %s/\n' "$dir"
  if ! ctest --test-dir "$dir" --output-on-failure --no-tests=error --no-label-summary -j "$(nproc)" --timeout 600 "$@" \
      >"$log" 2>&1; then
    cat "$log"
    exit 1
  fi
  sed -n '/^[0-9]*% tests passed/,$p' "$log"
}

tools/setup.sh
tools/build.sh default
if $all; then
  # The runtime under ThreadSanitizer runs plans that the compiler just built makes.
  tools/build.sh tsan
  run_tests build-tsan
  tools/build.sh asan
  run_tests build-asan
fi
run_tests build
