#!/usr/bin/env bash
# Installs the Debian packages of a folder in a fresh Debian 12 root, without what sheaf is built with: runs the pages of the tutorial,
# removes all and compares the root with what it was; then builds the C++ programs of this folder with Debian's g++. As root; takes minutes
# and some 2 GB, which go to ROOT and stay there.
#   (cd build && cpack -G DEB) && tests/package/clean_root.sh build /tmp/root
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
packages=${1:?usage: clean_root.sh FOLDER_OF_PACKAGES ROOT} root=${2:?usage: clean_root.sh FOLDER_OF_PACKAGES ROOT}
[ -e "$root/debootstrap" ] || [ -e "$root/etc/debian_version" ] || debootstrap --variant=minbase bookworm "$root"
mkdir -p "$root/packages" "$root/source"
mount -t proc proc "$root/proc"
trap 'umount "$root/proc"' EXIT
cp "$packages"/*.deb "$root/packages/"
cp -r "$source"/{docs,examples,models,tests,README.md} "$root/source/"

chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 bash -euo pipefail <<'INSIDE'
quietly() { "$@" >/tmp/log 2>&1 </dev/null || { tail -n 40 /tmp/log >&2; exit 1; }; }
install() { quietly apt-get install -qy --no-install-recommends "$@"; }
# Every file, but for those that apt and dpkg keep their books in.
listing() { find / -xdev \( -path /proc -o -path /tmp -o -path /packages -o -path /source -o -path /var/cache -o -path /var/log -o -path /var/lib/apt -o -path /var/lib/dpkg \) -prune -o -print | sort; }
quietly apt-get -q update
install python3 graphviz  # python3 runs the commands of pages
listing >/tmp/before

install /packages/sheaf-runtime_*.deb
sheaf-run --help >/dev/null
install /packages/sheaf_*.deb
for page in README.md docs/tutorial.md; do
  said=$(python3 /source/tests/cli/doc_page.py "/source/$page")
  echo "$said"
  [[ $said == *'as it was' ]]
done
install /packages/libsheaf-dev_*.deb
quietly apt-get purge -qy --auto-remove sheaf sheaf-runtime libsheaf-dev
listing >/tmp/after
diff /tmp/before /tmp/after && echo 'removed without a trace'

install /packages/*.deb cmake g++ ninja-build $(dpkg-deb -f /packages/libsheaf-dev_*.deb Suggests | tr -d ,)
quietly cmake -S /source/tests/package -B /tmp/programs -G Ninja -DCMAKE_BUILD_TYPE=Release
quietly cmake --build /tmp/programs
sheaf compile /source/models/tutorial.json -o /tmp/tutorial.plan
/tmp/programs/example /tmp/tutorial.plan 31
/tmp/programs/compile
INSIDE
