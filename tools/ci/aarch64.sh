#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Compiles the kernels for aarch64 and compares, under QEMU, digests of their results with those of
# x86-64. The rest of belfry needs libraries of that architecture. So only what the kernels need is
# compiled, without CMake, with those headers of other packages that suit every processor.
# usage: tools/ci/aarch64.sh <folder for objects>
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out="${1:?usage: tools/ci/aarch64.sh FOLDER}"
googletest=/usr/src/googletest/googletest

mkdir -p "$out/include"
rm -f "$out"/*.o
for package in boost fmt eigen3 rapidcheck rapidcheck.h; do
  ln -sfn "/usr/include/$package" "$out/include/$package"
done

# What belfry_compile_options and the kernels' CMakeLists.txt say, and no library of fmt.
flags=(-std=c++20 -ffp-contract=off -DNDEBUG -DFMT_HEADER_ONLY '-DBELFRY_VERSION="aarch64"'
  -Icore/include -Icore/src "-I$out/include" "-I$out/include/eigen3" "-I$googletest")
kernel_flags=(-O3 -fno-math-errno -fno-trapping-math)

# compile <flags ...>: the sources named on standard input, as many at a time as there are cores.
compile() {
  # shellcheck disable=SC2016
  xargs -P "$(nproc)" -I{} bash -c \
    'aarch64-linux-gnu-g++ "${@:2}" -c "$1" -o "$0/$(basename "$1" | cut -d. -f1).o"' \
    "$out" {} "${flags[@]}" "$@"
}

library() { git ls-files "core/src/$1/*.cpp" | grep -Ev '_(test|bench|fuzz)\.cpp$'; }

library kernels | compile "${kernel_flags[@]}"
{ library words; echo core/src/backend/backend.cpp; echo core/src/backend/operation.cpp; } |
  compile -O1
printf '%s\n' core/src/kernels/known_answers_test.cpp "$googletest/src/gtest-all.cc" \
  "$googletest/src/gtest_main.cc" | compile -O1 "-I$googletest/include"
aarch64-linux-gnu-g++ -static "$out"/*.o -o "$out/known_answers_test"
qemu-aarch64 "$out/known_answers_test"
