#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Runs a copy of tools/go that has nothing to install and nothing to build: CMake, CTest and the
# programs are stand-ins that say where they run and what they are given.
# usage: go_test.sh <tools/go>
set -uo pipefail
tools="$(cd "$(dirname "$1")" && pwd)"
folder="$(mktemp -d)"
trap 'rm -r "$folder"' EXIT
failed=0

mkdir -p "$folder/house/tools/ci" "$folder/bin" "$folder/elsewhere" "$folder/house/docs"
cp "$tools/go" "$folder/house/tools/"
cp "$tools/ci/common.sh" "$tools/ci/test.sh" "$tools/ci/not_run.py" "$folder/house/tools/ci/"
echo "build bash" >"$folder/house/tools/apt-packages.txt"
stand_in() {
  mkdir -p "$(dirname "$1")"
  # shellcheck disable=SC2016
  printf '#!/bin/sh\necho "%s in $PWD given $*"\nexit %d\n' "$2" "$3" >"$1"
  chmod +x "$1"
}
stand_in "$folder/bin/cmake" cmake 0
# There is nothing to install, also for root.
stand_in "$folder/bin/apt-get" apt-get 1
stand_in "$folder/house/build/demo/bin/belfry" belfry 7
stand_in "$folder/house/build/release/bin/one_bench" one_bench 0

# expect <exit code> <line> <folder> <tools/go, as seen from there> <arguments...>: all that was
# said is left in $said.
expect() {
  local code="$1" line="$2" from="$3" got
  shift 3
  said="$(cd "$from" && BELFRY_SKIP_PACKAGES=1 PATH="$folder/bin:$PATH" "$@" 2>&1)"
  got=$?
  if [[ $got -ne $code ]] || ! grep -Fxq -- "$line" <<<"$said"; then
    echo "FAILED: $* in $from gave $got, not $code, or does not say '$line':"
    echo "$said"
    failed=1
  fi
}

elsewhere="$folder/elsewhere" house="$folder/house"

# CMake runs in the repository, the programs where the caller is; their exit code is the tool's.
expect 7 "belfry in $elsewhere given demo --file my.csv" \
  "$elsewhere" "$house/tools/go" demo --file my.csv
expect 7 "belfry in $elsewhere given demo" "$elsewhere" ../house/tools/go demo
expect 7 "belfry in $house given demo --seed 3" "$house" tools/go demo --seed 3
expect 7 "belfry in $house/docs given demo" "$house/docs" ../tools/go demo
expect 7 "cmake in $house given --build --preset demo -- -k 0" "$elsewhere" "$house/tools/go" demo
expect 0 "one_bench in $elsewhere given --benchmark_out=x" \
  "$elsewhere" "$house/tools/go" bench --benchmark_out=x

# A stand-in for the campaign, which is a script of Python.
echo 'import os, sys; print("campaign in", os.getcwd(), "given", *sys.argv[1:])' \
  >"$house/tools/ci/campaign.py"
expect 0 "campaign in $house given list tsan" \
  "$elsewhere" "$house/tools/go" campaign list tsan
expect 0 "campaign in $house given --again fuzz" \
  "$elsewhere" "$house/tools/go" campaign --again fuzz

mkdir -p "$house/tools/docs"
echo 'import os, sys; print("docs in", os.getcwd(), "given", *sys.argv[1:])' \
  >"$house/tools/docs/build_site.py"
expect 0 "docs in $house given" "$elsewhere" "$house/tools/go" docs
expect 2 "tools/go: this command takes no arguments" "$elsewhere" "$house/tools/go" docs all

expect 2 "tools/go: no command 'dance'" "$elsewhere" "$house/tools/go" dance
expect 2 "tools/go: test takes no argument but --rest" "$elsewhere" "$house/tools/go" test all
expect 0 "usage: tools/go <command> [options]" "$elsewhere" "$house/tools/go"

# The summary names each test that did not run, and why: tests of ctest, and tests inside a program
# that writes a report. The program `broken` writes none. What a tree leaves out is told, too.
cat >"$folder/bin/ctest" <<'END'
#!/bin/sh
echo "ctest given $*"
while [ "$1" != --output-junit ]; do shift; done
case "$*" in
  *"-L lint") cat >"$2" <<'XML'
<testsuite><testcase name="lint.format" status="notrun"><system-out>looking
no clang-format</system-out></testcase></testsuite>
XML
    echo "100% tests passed, 0 tests failed out of 9" ;;
  *) cat >"$2" <<'XML'
<testsuite timestamp="2026-01-02T03:04:05">
<testcase name="crashed" status="fail"><system-out>c.cpp:1: Skipped
now</system-out></testcase>
<testcase name="run" status="run"><system-out>a.cpp:1: Skipped
the sanitizer reports it &lt;itself&gt;

a.cpp:9: Skipped
no pipes</system-out></testcase>
<testcase name="broken" status="run"><system-out>b.cpp:1: Skipped
on purpose</system-out></testcase>
</testsuite>
XML
    echo "100% tests passed, 0 tests failed out of 5" ;;
esac
END
chmod +x "$folder/bin/ctest"
for tree in asan test; do
  mkdir -p "$house/build/$tree/reports"
  touch "$house/build/$tree/CTestTestfile.cmake"
done
cat >"$house/build/asan/reports/run.json" <<'END'
{"testsuites": [{"name": "Run", "testsuite": [
  {"name": "Ends", "result": "COMPLETED"}, {"name": "Faults", "result": "SKIPPED"},
  {"name": "Pipes/0", "result": "SKIPPED"}]}]}
END
cp "$house/build/asan/reports/run.json" "$house/build/asan/reports/crashed.json"
touch -d 2026-01-01 "$house/build/asan/reports/crashed.json"
summary_is() {
  local got
  got="$(sed -n '/^== summary/,$p' <<<"$said" | tail -n +2)"
  if [[ "$got" != "$1" ]]; then
    echo "FAILED: the summary is:"
    echo "$got"
    failed=1
  fi
}
stand_in "$house/build/asan/bin/belfry" belfry 7
expect 1 "fails" "$elsewhere" "$house/tools/go" test
stand_in "$house/build/asan/bin/belfry" belfry 0
expect 0 "belfry in $house given demo --epochs 1 --quiet" "$elsewhere" "$house/tools/go" test
summary_is "tests:
100% tests passed, 0 tests failed out of 5
  not run: crashed: the program ended without a report of its tests
  not run: Run.Faults: the sanitizer reports it <itself>
  not run: Run.Pipes/0: no pipes
sources:
100% tests passed, 0 tests failed out of 9
  not run: lint.format: no clang-format
demo:
runs"
stand_in "$folder/bin/cmake" "-- belfry without 'cuda': no nvcc: cmake" 0
expect 0 "== configuring test" "$elsewhere" "$house/tools/go" test --rest
summary_is "  not built: cuda: no nvcc: cmake in $house given --preset test
optimized:
100% tests passed, 0 tests failed out of 5
installed:
100% tests passed, 0 tests failed out of 5
headers:
100% tests passed, 0 tests failed out of 5"
exit "$failed"
