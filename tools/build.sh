#!/usr/bin/env bash
# Configures and builds one preset of CMakePresets.json; prints one line, and the log if it fails.
#   tools/build.sh [PRESET [TARGET...]]      PRESET: default (the default), asan, tsan
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=${1:-default}
shift || true

case $preset in default) dir=build ;; *) dir=build-$preset ;; esac
mkdir -p "$dir"
log=$dir/build.log
started=$SECONDS
printf 'building %s/ … ' "$dir"
run() {
  "$@" >>"$log" 2>&1 && return
  printf 'failed\n'
  # Prints everything from the first failed command on, where a compiler's messages are.
  awk '/^FAILED:|CMake Error|^ninja: error/ { on = 1 } on' "$log" | head -n 80 >&2
  echo "the whole log: $log" >&2
  exit 1
}
: >"$log"
run cmake --preset "$preset"
targets=()
[ $# -eq 0 ] || targets=(--target "$@")
run cmake --build --preset "$preset" "${targets[@]}"
printf '%d s\n' $((SECONDS - started))
