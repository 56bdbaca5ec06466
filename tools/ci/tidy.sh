#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Runs clang-tidy 19 over the sources of a configured build (default build/clang), tests left out:
# their macros expand to what no reviewer would write.
# usage: tools/ci/tidy.sh [build folder] [regular expression of files]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build="${1:-build/clang}" files="${2:-.}"

git ls-files 'core/*.cpp' 'backends/*.cpp' 'tools/*.cpp' 'proptests/*.cpp' |
  grep -Ev '_test\.cpp$|_props\.cpp$|/conformance_\w*\.cpp$|_bench\.cpp$' |
  grep -Ev 'compile_fail|/programs/|/consumers/' |
  grep -E -- "$files" |
  xargs -P "$(nproc)" -n 4 \
    clang-tidy-19 --quiet -p "$build" 2> >(grep -v 'warnings generated' >&2)
