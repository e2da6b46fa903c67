#!/usr/bin/env bash
# Installs what tools/packages.txt lists and this machine lacks, through apt, and, if the CUDA toolkit is there, unpacks
# cudnn-frontend's headers (PyPI) into .packages/; silent if nothing is missing.
#   tools/setup.sh            install (as root, or with sudo)
#   tools/setup.sh --missing  only print what is missing; exit 1 if anything is
#   tools/setup.sh --demo     also what tools/demo-packages.txt lists
#   tools/setup.sh --python   also what the Python package is built and tested with, from PyPI, into .packages/python (5 GB)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lists=(tools/packages.txt)
[ "${1:-}" != --demo ] || lists+=(tools/demo-packages.txt)
python=false
[ "${1:-}" != --python ] || python=true

installed_version() {  # PACKAGE: its version, or nothing
  { dpkg-query -W -f='${db:Status-Status} ${Version}\n' "$1" 2>/dev/null || true; } | sed -n 's/^installed //p;T;q'
}

fits() {  # VERSION AT_LEAST BELOW
  dpkg --compare-versions "$1" ge "$2" && { [ "$3" = - ] || dpkg --compare-versions "$1" lt "$3"; }
}

missing() {
  local package least below purpose version
  while read -r package least below purpose; do
    case $package in ''|'#'*) continue ;; esac
    version=$(installed_version "$package")
    if [ -z "$version" ] || ! fits "$version" "$least" "$below"; then echo "$package"; fi
  done < <(cat "${lists[@]}")
}

# Only the headers: a wheel is a zip file, and nothing of it is run. The version is the one that the graphs were tried with.
cudnn_frontend=1.23.0
unpack_cudnn_frontend() {
  local target=.packages/cudnn-frontend wheel
  [ -e "$target/$cudnn_frontend" ] && return
  command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ] || return 0
  wheel=$(mktemp -d)
  echo "setup: unpacking the headers of cudnn-frontend $cudnn_frontend"
  if python3 -m pip download -q --no-deps --only-binary=:all: -d "$wheel" "nvidia-cudnn-frontend==$cudnn_frontend" >"$wheel/log" 2>&1 &&
     rm -rf "$target" && mkdir -p "$target" && python3 -m zipfile -e "$wheel"/*.whl "$wheel/content" &&
     mv "$wheel/content/include" "$target/include" && touch "$target/$cudnn_frontend"; then
    rm -rf "$wheel"
  else
    tail -n 20 "$wheel/log" >&2
    rm -rf "$wheel"
    echo "setup: cudnn-frontend's headers cannot be had: the CUDA backend won't be built" >&2
  fi
}

# PyTorch and the like, of the versions that python/tests/requirements.txt pins.
unpack_python() {
  local target=.packages/python wanted=python/tests/requirements.txt
  cmp -s "$wanted" "$target/requirements.txt" && return
  echo "setup: installing $wanted from PyPI"
  [ -x "$target/bin/pip" ] || { rm -rf "$target"; /usr/bin/python3 -m venv "$target"; }
  "$target/bin/python3" -m pip install -q --disable-pip-version-check -r "$wanted"
  cp "$wanted" "$target/requirements.txt"
}
of_pypi() {
  unpack_cudnn_frontend
  if $python; then unpack_python; fi
}

if ! command -v dpkg-query >/dev/null; then
  echo "setup: this machine has no dpkg: install the counterparts of tools/packages.txt by hand" >&2
  exit 1
fi
wanted=($(missing))
if [ "${1:-}" = --missing ]; then
  [ ${#wanted[@]} -eq 0 ] || { printf '%s\n' "${wanted[@]}"; exit 1; }
  exit 0
fi
if [ ${#wanted[@]} -eq 0 ]; then
  of_pypi
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "setup: installing ${wanted[*]} needs root or sudo" >&2; exit 1; }
  as_root=(sudo)
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "setup: installing ${wanted[*]}"
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3 "$@" >>"$log" 2>&1
}
# An update that fails for one of several sources is no reason to stop: the install reports what is missing.
apt update || echo "setup: apt-get update reported a problem" >&2
if ! apt install -y --no-install-recommends "${wanted[@]}"; then
  tail -n 40 "$log" >&2
  echo "setup: apt-get install failed" >&2
  exit 1
fi
wanted=($(missing))
if [ ${#wanted[@]} -ne 0 ]; then
  echo "setup: the versions that apt has of ${wanted[*]} won't do; ${lists[*]} say which are needed" >&2
  exit 1
fi
of_pypi
