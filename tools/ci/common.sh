# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# shellcheck shell=bash
# Functions shared by tools/go and the scripts beside this one; sourced from the repository's root.

# The same locale for all: the language of compilers, and a part of the keys of ccache.
export LC_ALL=C.UTF-8 LANG=C.UTF-8
unset LC_CTYPE LC_MESSAGES

say() { printf '== %s\n' "$*"; }

# Prints the packages of the given groups in tools/apt-packages.txt.
packages_of() {
  local group
  for group in "$@"; do
    awk -v group="$group" '$1 == group { print $2 }' tools/apt-packages.txt
  done
}

# Prints the given packages that are not installed.
missing_packages() {
  [[ $# -gt 0 ]] || return 0
  comm -23 <(printf '%s\n' "$@" | sort -u) \
    <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null |
      awk '$2 == "installed" { print $1 }' | sort -u)
}

# Installs missing packages of the given groups; needs no network if all are installed.
ensure_packages() {
  local -a wanted missing root=()
  mapfile -t wanted < <(packages_of "$@")
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    [[ -z "${BELFRY_SKIP_PACKAGES:-}" ]] || return 0
    echo "tools/go: this system has no apt; install the equivalents of these Debian packages," >&2
    echo "then set BELFRY_SKIP_PACKAGES=1 and run the command again:" >&2
    printf '  %s\n' "${wanted[@]}" >&2
    exit 3
  fi
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  [[ ${#missing[@]} -gt 0 ]] || return 0

  if [[ $EUID -ne 0 ]]; then
    command -v sudo >/dev/null || {
      echo "tools/go: packages are missing and neither root nor sudo is at hand: ${missing[*]}" >&2
      exit 3
    }
    root=(sudo)
  fi
  say "installing ${#missing[@]} missing packages: ${missing[*]}"
  "${root[@]}" apt-get update -q || exit 3
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}" || exit 3
}

# Configures a preset, with further options. Prints CMake's output after a failure.
configure() {
  local log="build/$1.configure.log"
  mkdir -p build
  say "configuring $1"
  cmake --preset "$@" >"$log" 2>&1 || { cat "$log"; return 1; }
  sed -n 's/^-- belfry with/belfry with/p' "$log"
}

# Goes on after a failure: a single run shows all failures.
build() {
  say "building $1"
  cmake --build --preset "$1" -- -k 0
}

# Configures and builds a preset; the second argument names a build preset, if it is another.
configure_and_build() {
  configure "$1" && build "${2:-$1}"
}
