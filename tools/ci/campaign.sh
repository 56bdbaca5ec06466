#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# The long checks, all of them or those named: too long for `tools/go test`.
# Each step writes a log to build/campaign/ and prints a verdict; a table of them ends the run.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
source tools/ci/common.sh

STEPS=(clang tsan asan properties mutants memory fuzz cuda tidy bench aarch64 bookworm trixie)
LOGS=build/campaign

describe() {
  case "$1" in
    clang) echo "clang 19, warnings are errors, every test" ;;
    tsan) echo "clang 19 with ThreadSanitizer, all suites" ;;
    asan) echo "GCC with ASan and UBSan, all suites" ;;
    properties)
      echo "properties and contracts, ${BELFRY_CAMPAIGN_CASES:-1000} cases each; on threads 30"
      ;;
    mutants) echo "planted faults, each killed by the test that its patch names" ;;
    memory) echo "memory runs out at every allocation: all cases, carriers, strategies, CUDA" ;;
    fuzz) echo "parsers under libFuzzer, ${BELFRY_CAMPAIGN_FUZZ_SECONDS:-60} s each" ;;
    cuda) echo "the real CUDA backend for every architecture" ;;
    tidy) echo "clang-tidy 19" ;;
    bench) echo "the benchmarks build and run" ;;
    aarch64) echo "known answers of the kernels on an emulated aarch64" ;;
    bookworm) echo "tools/go test and demo in a bare Debian 12" ;;
    trixie) echo "tools/go test and demo in a bare Debian 13" ;;
    *) return 1 ;;
  esac
}

build_and_test() {
  local preset="$1"
  shift
  configure_and_build "$preset" && ctest --preset "$preset" "$@"
}

# Exit status 77 of a step means: not applicable on this machine.
run_step() {
  case "$1" in
    clang) build_and_test clang -LE lint ;;
    tsan) build_and_test tsan -LE "lint|install" ;;
    asan) build_and_test asan -LE "lint|install" ;;
    properties) long_properties ;;
    mutants) python3 tools/checks/run_mutants.py ;;
    memory) memory ;;
    fuzz) fuzz ;;
    cuda)
      command -v nvcc >/dev/null || [[ -n "${CUDACXX:-}" ]] || return 77
      configure_and_build cuda
      ;;
    tidy) configure clang && tools/ci/tidy.sh build/clang ;;
    bench) configure_and_build release && bench_smoke ;;
    aarch64) tools/ci/aarch64.sh build/aarch64 ;;
    bookworm | trixie)
      [[ $EUID -eq 0 ]] || return 77
      tools/ci/bare_root.sh "$1" bash -c 'tools/go test && tools/go demo'
      ;;
  esac
}

# More cases do not change the page of conformance, nor what it is made from.
long_properties() {
  configure_and_build dev &&
    RC_PARAMS="max_success=${BELFRY_CAMPAIGN_CASES:-1000}" \
      ctest --preset dev -L prop -E docs.conformance --timeout 3600
}

# Without sanitizers, which have allocators of their own.
memory() {
  configure dev && cmake --build --preset dev --target memory_points &&
    build/dev/bin/memory_points --gtest_brief=1
}

fuzz() {
  local target found=77
  configure_and_build fuzz || return 1
  for target in build/fuzz/bin/*_fuzz; do
    [[ -x "$target" ]] || continue
    found=0
    "$target" -max_total_time="${BELFRY_CAMPAIGN_FUZZ_SECONDS:-60}" \
      -artifact_prefix="$LOGS/" || return 1
  done
  return "$found"
}

bench_smoke() {
  local bench
  for bench in build/release/bin/*_bench; do
    [[ ! -x "$bench" ]] || "$bench" --benchmark_min_time=0.01 || return 1
  done
}

choose_steps() {
  local step
  if [[ "${1:-}" == list ]]; then
    for step in "${STEPS[@]}"; do printf '%-11s %s\n' "$step" "$(describe "$step")"; done
    exit 0
  fi
  [[ $# -gt 0 ]] || set -- "${STEPS[@]}"
  for step in "$@"; do
    describe "$step" >/dev/null || { echo "campaign: no step '$step'; try list" >&2; exit 2; }
  done
  chosen=("$@")
}

choose_steps "$@"
ensure_packages build test bench campaign
mkdir -p "$LOGS"
failed=0
table=()
for step in "${chosen[@]}"; do
  start=$SECONDS
  run_step "$step" >"$LOGS/$step.log" 2>&1
  case $? in
    0) verdict=ok ;;
    77) verdict=skipped ;;
    *) verdict=FAILED failed=1 ;;
  esac
  line="$(printf '%-11s %-8s %5d s  %s' "$step" "$verdict" $((SECONDS - start)) \
    "$(describe "$step")")"
  table+=("$line")
  echo "$line"
  [[ $verdict != FAILED ]] || { tail -25 "$LOGS/$step.log" | sed 's/^/    /'; }
done
say "campaign"
printf '%s\n' "${table[@]}"
exit "$failed"
