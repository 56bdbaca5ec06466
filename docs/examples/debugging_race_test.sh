#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Runs the program of docs/debugging.md under ThreadSanitizer: on fibers each of five runs must
# report the race, and the report must have the line of the mistake for both accesses. The number of
# reports with concurrent threads is printed: chance decides.
# usage: debugging_race_test.sh <doc_debugging, built with ThreadSanitizer>
set -uo pipefail
source="$(dirname "${BASH_SOURCE[0]}")/debugging.cpp"
line="$(grep -n 'last = loss;' "$source" | cut -d: -f1)"

# reports <program> <carrier>: the number of runs, of five, that report the race. A program with a
# report exits with 66, whatever the report is.
reports() {
  local count=0 said
  for _ in 1 2 3 4 5; do
    said="$("$1" "$2" 2>&1)"
    grep -q 'ThreadSanitizer: data race' <<<"$said" &&
      [[ $(grep -c "^ *#0 .*/debugging.cpp:$line:" <<<"$said") -eq 2 ]] && count=$((count + 1))
  done
  echo "$count"
}

fibers="$(reports "$1" fiber)"
echo "reports in five runs: fibers $fibers, concurrent threads $(reports "$1" concurrent)"
[[ $fibers -eq 5 ]]
