#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Everything that needs a GPU, in one go: the suites on the real CUDA backend, the same under
# compute-sanitizer, and the benchmarks. Results go to $OUT, or out/ where that is not set.
#
#   tools/gpu/run_all.sh                 build here, run here
#   tools/gpu/run_all.sh --pack FOLDER   build here and gather what another machine needs to run
#   tools/gpu/run_all.sh --from FOLDER   run what was gathered; needs a driver and NCCL, no compiler
#
# NCCL is not gathered, for its size: where no libnccl.so.2 is installed, that of a Python package
# (nvidia-nccl-cu13, as PyTorch brings it) is used.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 3

programs=(proptests_gpu cuda_real_libraries_test local_clique_bench)
out="${OUT:-out}"
verdicts=()
failed=0

build() {
  cmake --preset cuda -DBELFRY_BUILD_BENCHMARKS=ON -DBELFRY_GPU_TESTS=ON &&
    cmake --build build/cuda --target "${programs[@]}"
}

pack() {
  local folder="$1" program
  build || return
  mkdir -p "$folder/lib"
  for program in "${programs[@]}"; do
    cp "build/cuda/bin/$program" "$folder/" || return
    strip "$folder/$program"
    # Libraries of the project's dependencies; not the C library, nor what belongs to the driver.
    ldd "build/cuda/bin/$program" |
      awk '$3 ~ /lib(boost|fmt|benchmark|stdc\+\+|gcc_s)/ { print $3 }' |
      xargs -r cp -L -t "$folder/lib"
  done
}

nccl_folder() {
  ldconfig -p 2>/dev/null | grep -q 'libnccl\.so\.2' && return
  python3 -c 'import nvidia.nccl; print(list(nvidia.nccl.__path__)[0] + "/lib")' 2>/dev/null
}

# step <name> <command...>: keeps the output in a file and the verdict for the end.
step() {
  local name="$1"
  shift
  echo "== $name"
  "$@" >"$out/$name.txt" 2>&1
  local status=$?
  tail -n 4 "$out/$name.txt"
  if [[ $status -eq 0 ]]; then
    verdicts+=("ok      $name")
  else
    verdicts+=("FAILED  $name (exit code $status)")
    failed=1
  fi
}

sanitize() {
  local tool="$1"
  shift
  # Fewer cases, and of the backend's own suites alone: each access is checked.
  RC_PARAMS="max_success=10" compute-sanitizer --tool "$tool" --error-exitcode 9 \
    "$@" --gtest_filter='Spi*'
}

machine() {
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv
  uname -sr
}

run() {
  local folder="$1"
  mkdir -p "$out"
  LD_LIBRARY_PATH="$folder/lib:$(nccl_folder):${LD_LIBRARY_PATH:-}"
  export LD_LIBRARY_PATH
  step machine machine
  step real_libraries "$folder/cuda_real_libraries_test"
  step suites "$folder/proptests_gpu"
  if command -v compute-sanitizer >/dev/null; then
    step memcheck sanitize memcheck "$folder/proptests_gpu"
    step racecheck sanitize racecheck "$folder/proptests_gpu"
  else
    verdicts+=("not run memcheck and racecheck: compute-sanitizer is not installed")
  fi
  step local_clique_bench "$folder/local_clique_bench" --benchmark_repetitions=3
  printf '%s\n' "${verdicts[@]}" | tee "$out/verdicts.txt"
  return "$failed"
}

case "${1:-}" in
  "") build && run build/cuda/bin ;;
  --pack) pack "${2:?a folder}" ;;
  --from) run "${2:?a folder}" ;;
  *)
    sed -n '5,15s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
