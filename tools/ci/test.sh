#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# `tools/go test`: every test in one tree, with clang and sanitizers and 30 cases of each property;
# the checks of the sources; the demo once. `tools/go test --rest`: the optimized tree of GCC with
# every case, what is installed, users' projects, each public header alone, and the messages for
# mistakes that do not compile. A failing step does not stop the later ones.
# usage: tools/ci/test.sh [--rest]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
source tools/ci/common.sh

failed=0
summary=()

# step <name> <preset> <ctest arguments...>: runs ctest and keeps its verdict, with the tests that
# did not run and the reasons.
step() {
  local name="$1" preset="$2" out="$PWD/build/$1"
  shift 2
  say "testing: $name"
  ctest --preset "$preset" --output-junit "$out.junit.xml" --test-output-size-passed 9999999 "$@" \
    2>&1 | tee "$out.ctest.log"
  [[ ${PIPESTATUS[0]} -eq 0 ]] || failed=1
  summary+=("$name:" "$(grep -E 'tests passed|No tests were found' "$out.ctest.log" | tail -1)")
  mapfile -t -O "${#summary[@]}" summary < <(
    python3 tools/ci/not_run.py "build/$preset" "$out.junit.xml")
}

# tree <preset> <build preset>: configures and builds. What the tree has to leave out is told.
tree() {
  configure_and_build "$1" "$2" || { failed=1; summary+=("$1:" "does not build"); }
  mapfile -t -O "${#summary[@]}" summary < <(
    sed -n "s/^-- belfry without '\(.*\)': /  not built: \1: /p" "build/$1.configure.log")
  [[ -f build/$1/CTestTestfile.cmake ]]
}

# The first command of the README, for a single pass over the images, by the program of the tree.
demo() {
  say "the demo"
  local verdict="runs"
  build/asan/bin/belfry demo --epochs 1 --quiet || { failed=1 verdict="fails"; }
  summary+=("demo:" "$verdict")
}

sanitized() {
  # Fake stacks for every fiber take a third of the time; the campaign's asan step has them.
  export ASAN_OPTIONS="detect_stack_use_after_return=0:${ASAN_OPTIONS:-}"
  tree asan asan-tests || return
  RC_PARAMS=max_success=30 step tests asan -L asan
  step sources asan -L lint
  demo
}

rest() {
  tree test test || return
  step optimized test -L plain
  step installed test -L 'install|consumers'
  step headers test -L headers
}

start=$SECONDS
case "${1:-}" in
  "") sanitized ;;
  --rest) rest ;;
  *) echo "tools/ci/test.sh: no option '$1'" >&2; exit 2 ;;
esac

say "summary ($((SECONDS - start)) s)"
printf '%s\n' "${summary[@]}"
exit "$failed"
