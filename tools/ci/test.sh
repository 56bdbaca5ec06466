#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# What `tools/go test` and CI run: every test with clang and sanitizers; the property suites, the
# kernels, what is installed, and the tool with GCC and optimized; the checks of the sources; the
# demo. A failing step does not stop the later ones.
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
  mapfile -t -O "${#summary[@]}" summary < <(not_run "$log" "build/$name")
}

# Lists skipped and disabled tests in a log of ctest, which counts them as passed, and tests skipped
# inside a program with several tests.
not_run() {
  awk '/^The following tests did not run:/ { listed = 1; next } !/^\t/ { listed = 0 }
    listed { sub(/^[\t ]*[0-9]+ - /, "  not run: "); print }' "$1"
  local all="$2/Testing/Temporary/LastTest.log"
  [[ ! -f $all ]] || sed -n 's/^\[  SKIPPED \] \([^ ]*\) (.*/  not run: \1/p' "$all"
}

# The first command of the README, for a single pass over the images. Its preset is configured and
# not built: the sources are those of the first step, and take minutes to compile again.
demo() {
  say "the demo"
  if configure demo && build/test/bin/belfry demo --epochs 1 --quiet; then
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
if configure_and_build test; then
  # One pass has every case of the property suites; the sanitizers have a part of them.
  step test --preset test -L "plain|install"
else
  broken test
fi
if configure_and_build asan asan-subset; then
  # Fake stacks for every fiber take a third of the time; the campaign's asan step has them.
  export ASAN_OPTIONS="detect_stack_use_after_return=0:${ASAN_OPTIONS:-}"
  RC_PARAMS=max_success=30 step asan --preset asan -L asan
else
  broken asan
fi
if [[ -f build/test/CTestTestfile.cmake ]]; then
  step lint --preset test -L lint
fi
demo

say "summary ($((SECONDS - start)) s)"
printf '%s\n' "${summary[@]}"
exit "$failed"
