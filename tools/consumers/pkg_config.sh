#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Compiles and runs each program with the flags of its pkg-config module of an installed belfry, as
# C++20. A program prints the text of the .expected file beside its source, or nothing without such
# a file. The flags choose no standard, and the first error of an older standard says so.
# usage: pkg_config.sh PREFIX COMPILER FOLDER MODULE PROGRAM [MODULE PROGRAM ...]
set -euo pipefail
prefix="$1" compiler="$2" folder="$3"
shift 3

if ! command -v pkg-config >/dev/null; then
  echo "SKIPPED: pkg-config is not installed"
  exit 77
fi
module="$(find "$prefix" -name belfry.pc)"
PKG_CONFIG_PATH="$(dirname "$module")"
export PKG_CONFIG_PATH

mkdir -p "$folder"
first_module="$1" first_program="$2"
while (($#)); do
  module="$1" program="$2"
  shift 2
  # The flags are words on purpose.
  # shellcheck disable=SC2046
  "$compiler" -std=c++20 "$program" -o "$folder/program" \
    $(pkg-config --cflags --libs "$module")
  expected="${program%.cpp}.expected"
  [[ -e "$expected" ]] || expected=/dev/null
  "$folder/program" | diff "$expected" -
done

flags="$(pkg-config --cflags "$first_module")"
if [[ "$flags" == *-std=* ]]; then
  echo "the flags choose the standard for the program: $flags"
  exit 1
fi
# shellcheck disable=SC2086
first="$("$compiler" -std=c++17 -fsyntax-only $flags "$first_program" 2>&1 \
         | grep -m 1 'error:')" || true
if [[ "$first" != *"belfry needs C++20"* ]]; then
  echo "the first error of a program in C++17 is: $first"
  exit 1
fi
