#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Compiles and runs each program with the flags of its pkg-config module of an installed belfry. A
# program prints the text of the .expected file beside its source, or nothing without such a file.
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
while (($#)); do
  module="$1" program="$2"
  shift 2
  # The flags are words on purpose.
  # shellcheck disable=SC2046
  "$compiler" "$program" -o "$folder/program" \
    $(pkg-config --cflags --libs "$module")
  expected="${program%.cpp}.expected"
  [[ -e "$expected" ]] || expected=/dev/null
  "$folder/program" | diff "$expected" -
done
