#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Compiles and runs a program with what pkg-config says about an installed belfry, unaided.
# usage: pkg_config.sh PREFIX COMPILER PROGRAM FOLDER
set -euo pipefail
prefix="$1" compiler="$2" program="$3" folder="$4"

if ! command -v pkg-config >/dev/null; then
  echo "SKIPPED: pkg-config is not installed"
  exit 77
fi
module="$(find "$prefix" -name belfry.pc)"
PKG_CONFIG_PATH="$(dirname "$module")"
export PKG_CONFIG_PATH

mkdir -p "$folder"
# The flags are words on purpose.
# shellcheck disable=SC2046
"$compiler" "$program" -o "$folder/program" \
  $(pkg-config --cflags --libs belfry)
"$folder/program" | diff "${program%.cpp}.expected" -
