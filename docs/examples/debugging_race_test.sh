#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Runs the program of docs/debugging.md under ThreadSanitizer: on fibers each of five runs must
# report the race. The number of reports with concurrent threads is printed: chance decides.
# usage: debugging_race_test.sh <doc_debugging, built with ThreadSanitizer>
set -uo pipefail

reports() {
  local count=0
  for _ in 1 2 3 4 5; do
    "$1" "$2" 2>&1 | grep -q 'ThreadSanitizer: data race' && count=$((count + 1))
  done
  echo "$count"
}

fibers="$(reports "$1" fiber)"
echo "reports in five runs: fibers $fibers, concurrent threads $(reports "$1" concurrent)"
[[ $fibers -eq 5 ]]
