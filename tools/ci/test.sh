#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# What `tools/go test` and CI run: GCC with every test, the sanitizer subset, the checks of the
# sources, then the demo. A failing step does not stop the later ones.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
source tools/ci/common.sh

failed=0
summary=()

# step <name> <ctest arguments...>: runs ctest and keeps its verdict.
step() {
  local name="$1" log="build/$1.ctest.log"
  shift
  say "testing: $name"
  ctest "$@" 2>&1 | tee "$log"
  [[ ${PIPESTATUS[0]} -eq 0 ]] || failed=1
  summary+=("$name:" "$(grep -E 'tests passed|No tests were found' "$log" | tail -1)")
  mapfile -t -O "${#summary[@]}" summary < <(not_run "$log")
}

# Lists the tests that a log of ctest says were skipped or disabled: ctest calls them passed.
not_run() {
  awk '/^The following tests did not run:/ { listed = 1; next } !/^\t/ { listed = 0 }
    listed { sub(/^[\t ]*[0-9]+ - /, "  not run: "); print }' "$1"
}

# The first command of the README, for one pass over the images. Its preset is configured and not
# built: it has the sources of the first step, which take minutes to compile again.
demo() {
  say "the demo"
  if configure demo && build/dev/bin/belfry demo --epochs 1 --quiet; then
    summary+=("demo:" "runs")
  else
    failed=1
    summary+=("demo:" "cannot be configured, or fails")
  fi
}

broken() {
  failed=1
  summary+=("$1:" "does not build")
}

start=$SECONDS
if configure_and_build dev; then
  step gcc --preset dev -LE lint
else
  broken gcc
fi
if configure_and_build asan asan-subset; then
  # Sanitizers make a case slower, and the step before has run every case without them; the
  # campaign's asan step runs every case with them.
  RC_PARAMS=max_success=30 step asan-ubsan --preset asan -L asan
else
  broken asan-ubsan
fi
if [[ -f build/dev/CTestTestfile.cmake ]]; then
  step lint --preset dev -L lint
fi
demo

say "summary ($((SECONDS - start)) s)"
printf '%s\n' "${summary[@]}"
exit "$failed"
