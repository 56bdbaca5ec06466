#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Runs the programs of docs/examples/kernel_race.cpp under ThreadSanitizer. Each mistake must be
# reported in each of three runs, with the lines of both accesses. The programs without a mistake
# must run without a report.
# usage: kernel_race_test.sh <doc_examples, built with ThreadSanitizer>
set -uo pipefail
source="$(dirname "${BASH_SOURCE[0]}")/kernel_race.cpp"

# line_of <text>: the number of the first line with the text.
line_of() { grep -nF -- "$1" "$source" | head -1 | cut -d: -f1; }

failed=0
# expect_race <mistake> <line of the body> <line of the host>
expect_race() {
  local said
  for _ in 1 2 3; do
    said="$("$runner" kernel_race "$1" 2>&1)"
    if grep -q 'ThreadSanitizer: data race' <<<"$said" &&
       grep -q "^ *#[0-9]* .*/kernel_race.cpp:$2:" <<<"$said" &&
       grep -q "^ *#[0-9]* .*/kernel_race.cpp:$3:" <<<"$said"; then
      continue
    fi
    echo "$1: no report of lines $2 and $3:"$'\n'"$said"
    failed=1
  done
}

runner="$1"
body="$(line_of '*count += value')"
expect_race host "$body" "$(line_of "std::cout << count << '\\n';  // The mistake")"
expect_race replica "$body" "$(line_of 'seen = count;')"
expect_race memory "$body" "$(line_of 'memory[0] = 0;')"

for _ in 1 2 3; do
  if ! said="$("$runner" kernel_race 2>&1)"; then
    echo "a report for the programs without a mistake:"$'\n'"$said"
    failed=1
  fi
done
exit "$failed"
