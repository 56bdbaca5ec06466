#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Makes a bare Debian system in a temporary folder, clones HEAD into it, adds the changes of tracked
# files that are not committed, and runs commands there: a test of a fresh machine. Needs root and
# debootstrap. The packages come from the mirror of this machine. If this machine has a ccache, the
# root shares the cache: a text that the same compiler has compiled before is not compiled again.
# BELFRY_COLD=1 compiles everything. BELFRY_ROOT_ALSO names files of the tree, separated by blanks,
# that git does not track and the root gets as well.
# usage: tools/ci/bare_root.sh bookworm|trixie [command ...]     (default: tools/go test)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

release="${1:?usage: tools/ci/bare_root.sh RELEASE [command ...]}"
shift
[[ $# -gt 0 ]] || set -- tools/go test
[[ $EUID -eq 0 ]] || { echo "bare_root: needs root for debootstrap and chroot" >&2; exit 3; }
command -v debootstrap >/dev/null || { echo "bare_root: debootstrap is missing" >&2; exit 3; }

# The first archive of this machine's apt that is a Debian main archive.
# shellcheck disable=SC2016
mirror="$(apt-get indextargets --format '$(SITE) $(ORIGIN) $(COMPONENT) $(REPO_URI)' \
  'Created-By: Packages' 2>/dev/null |
  awk '$3 == "main" && $4 !~ /security/ { print $4; exit }')"
[[ -n "$mirror" ]] || { echo "bare_root: apt here has no archive to install from" >&2; exit 3; }

root="$(mktemp -d)"
clean_up() {
  umount -l "$root/proc" "$root/dev/pts" 2>/dev/null || true
  # Deleting the root must not empty the cache.
  if mountpoint -q "$root/ccache" && ! umount -l "$root/ccache"; then
    echo "bare_root: $root stays, because its ccache cannot be unmounted" >&2
    return
  fi
  rm -rf --one-file-system "$root"
}
trap clean_up EXIT
chmod 755 "$root"

include=()
cache=()
if [[ -z "${BELFRY_COLD:-}" ]] && command -v ccache >/dev/null; then
  include=(--include=ccache)
  # The key of a compilation must be the same here and in the root, the folder excepted.
  cache=(CCACHE_DIR=/ccache CCACHE_BASEDIR=/belfry
    CCACHE_COMPILERCHECK="$(ccache -k compiler_check)" CCACHE_MAXSIZE="$(ccache -k max_size)")
  [[ "$(ccache -k hash_dir)" == true ]] || cache+=(CCACHE_NOHASHDIR=1)
fi

echo "== a bare $release"
debootstrap --variant=minbase "${include[@]}" "$release" "$root" "$mirror" >"$root.log" 2>&1 ||
  { tail -20 "$root.log" >&2; exit 3; }
rm -f "$root.log"
git clone -q . "$root/belfry"
git diff --binary --no-ext-diff HEAD | git -C "$root/belfry" apply --index --allow-empty
for also in ${BELFRY_ROOT_ALSO:-}; do
  install -D -m 644 "$also" "$root/belfry/$also"
done
# The way to the network is the machine's, not the project's.
cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
mount -t proc proc "$root/proc" 2>/dev/null || mount --rbind /proc "$root/proc" || true
# For the tests that open a pseudo-terminal.
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts" || true

if [[ ${#cache[@]} -gt 0 ]]; then
  mkdir "$root/ccache"
  mount --bind "$(ccache -k cache_dir)" "$root/ccache" || cache=(CCACHE_DISABLE=1)
fi

echo "== $* in $release"
env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb \
  ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
  "${cache[@]}" chroot "$root" bash -c 'cd /belfry && exec "$@"' bash "$@"
