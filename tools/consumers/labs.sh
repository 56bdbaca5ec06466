#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Runs the commands of the page of the labs as a student types them: in a folder with a copy of the
# starter, over an installed belfry. Each prints the .expected file of its program.
# usage: labs.sh PREFIX COMPILER FOLDER PAGE
set -euo pipefail
prefix="$1" compiler="$2" folder="$3" page="$4"

if ! command -v pkg-config >/dev/null; then
  echo "SKIPPED: pkg-config is not installed"
  exit 77
fi
PKG_CONFIG_PATH="$(dirname "$(find "$prefix" -name belfry.pc)")"
export PKG_CONFIG_PATH

programs="$(cd "$(dirname "$page")/programs" && pwd)"
mapfile -t commands < <(sed -n 's/^ *g++ //p' "$page")
[[ ${#commands[@]} -eq 7 ]] || { echo "the page has ${#commands[@]} commands"; exit 1; }
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
for command in "${commands[@]}"; do
  lab="${command##* ./}"
  cp "$programs/$lab.cpp" .
  bash -c "$compiler $command" | diff "$programs/$lab.expected" -
done
