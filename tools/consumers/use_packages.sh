#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Installs Debian packages of a folder, an archive for apt, in this system, which has neither belfry
# nor a build tree, and builds and runs programs: by pkg-config with the development package, by
# CMake with the testing package, too. At last the libraries alone must run a program. Needs root.
# usage: tools/consumers/use_packages.sh FOLDER
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/ci/common.sh
folder="$PWD/${1:?usage: tools/consumers/use_packages.sh FOLDER}"
out="$(mktemp -d)"

install_packages() {
  env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
}

say "the development package"
echo "deb [trusted=yes] file:$folder ./" >/etc/apt/sources.list.d/belfry.list
apt-get update -q
install_packages g++ cmake ninja-build pkg-config libbelfry-dev
tools/consumers/pkg_config.sh /usr g++ "$out" \
  belfry-files docs/examples/input.cpp belfry-tower tools/consumers/older_names.cpp \
  belfry-driver docs/examples/two_ranks.cpp \
  belfry proptests/programs/01_merge_call.cpp

say "the testing package"
install_packages libbelfry-testing-dev
ctest --build-and-test tools/consumers/find_package "$out/find_package" \
  --build-generator Ninja \
  --build-options "-DCMAKE_CXX_FLAGS=-O0" "-DPROGRAMS=$PWD/proptests/programs/0[1-9]_*.cpp" \
  --test-command ctest --output-on-failure --no-tests=error

say "the libraries alone"
apt-get remove -q -y libbelfry-dev
"$out/program" | diff proptests/programs/01_merge_call.expected -
say "the packages work"
