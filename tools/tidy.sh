#!/usr/bin/env bash
# Checks the runtime, the frontend and the verbs as .clang-tidy says: prints what it finds, and exits with 1 if it finds anything.
# After tools/build.sh default, whose precompiled header and groups of files it reads: headers are most of what a file takes.
# Files that include MLIR are left out: matching its headers takes most of a minute for a few files.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -eq 0 ] || { echo "usage: tools/tidy.sh" >&2; exit 2; }
found=$(python3 -c '
import json
for entry in json.load(open("build/compile_commands.json")):
    if "-include-pch -Xclang" in entry["command"] and "/sheaf_runtime_pch.dir/cmake_pch" in entry["command"]:
        print(entry["file"])' | sort -u | xargs -n 1 -P "$(nproc)" clang-tidy-19 -p build --quiet 2>/dev/null) && exit
echo "${found:-clang-tidy-19 failed}" >&2
exit 1
