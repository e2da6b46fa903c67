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
if $all; then
  tools/build.sh tsan sheaf_tsan_targets
  run_tests build-tsan -L tsan
  tools/build.sh asan sheaf_asan_targets
  run_tests build-asan -L asan
fi
tools/build.sh default
run_tests build
