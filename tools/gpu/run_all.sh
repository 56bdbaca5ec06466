#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Everything that needs a GPU: the suites on the real CUDA backend, the same under
# compute-sanitizer, and the benchmarks. Results go to $OUT, or to out/ if OUT is not set.
#
#   tools/gpu/run_all.sh                 build here, run here
#   tools/gpu/run_all.sh --pack FOLDER   build here and gather the files for a different machine
#   tools/gpu/run_all.sh --from FOLDER   run the gathered files; needs a driver and NCCL
#
# CASES is the number of cases of each property (100), CHECKED_CASES that under compute-sanitizer
# (10), RANK_CASES that in 2, 3 and 4 processes (1); ARCHITECTURES is what to compile for, as CMake
# spells it (all that belfry supports). STEPS names the steps to run, as "gpu demo" (all). NCCL and
# cuBLAS are not gathered, for their size: if no libnccl.so.2 or libcublas.so is installed, the
# library of a Python package is used (nvidia-nccl-cu13, nvidia-cublas, as PyTorch brings them).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 3

suites=(proptests_gpu proptests_central_storage_gpu proptests_local_sgd_gpu contracts_gpu)
programs=("${suites[@]}" driver_rules_gpu cuda_gpu_test cuda_real_libraries_test
          own_training_gpu forked_loss_gpu suites_forked_gpu local_clique_bench belfry
          initcheck_ring)
digits=docs/data/digits.csv
left_out=docs/data/suites_over_processes.txt  # Tests that need all replicas in one process.
programs+=(cublas_gpu_test gpu_kernels_on_gpus)  # with cuBLAS
printed=docs/examples/gpu_kernels.expected
out="${OUT:-out}"
verdicts=()
failed=0

build() {
  cmake --preset cuda -DBELFRY_BUILD_BENCHMARKS=ON -DBELFRY_GPU_TESTS=ON \
    ${ARCHITECTURES:+"-DCMAKE_CUDA_ARCHITECTURES=$ARCHITECTURES"} &&
    cmake --build build/cuda --target "${programs[@]/#belfry/belfry_tool}"
}

pack() {
  local folder="$1" program
  build || return
  mkdir -p "$folder/lib"
  cp "$digits" "$printed" "$left_out" "$folder/" || return
  git describe --always --dirty >"$folder/commit"
  for program in "${programs[@]}"; do
    cp "build/cuda/bin/$program" "$folder/" || return
    strip "$folder/$program"
    # Libraries of the project's dependencies, without the C library and the libraries of the
    # driver.
    ldd "build/cuda/bin/$program" |
      awk '$3 ~ /lib(boost|fmt|benchmark|gmock|gtest|stdc\+\+|gcc_s)/ { print $3 }' |
      xargs -r cp -L -t "$folder/lib"
  done
}

nccl_folder() {
  ldconfig -p 2>/dev/null | grep 'libnccl\.so\.2' >/dev/null && return
  python3 -c 'import nvidia.nccl; print(list(nvidia.nccl.__path__)[0] + "/lib")' 2>/dev/null
}

# Prints nothing if the loader finds cuBLAS.
cublas_folder() {
  ldconfig -p 2>/dev/null | grep 'libcublas\.so\.[0-9]' >/dev/null && return
  local folders folder
  mapfile -t folders < <(python3 -c 'import nvidia
for root in nvidia.__path__:
    print(root + "/cu13/lib", root + "/cublas/lib", sep="\n")' 2>/dev/null)
  for folder in /usr/local/cuda/lib64 /usr/local/cuda/lib "${folders[@]}"; do
    if compgen -G "$folder/libcublas.so.*" >/dev/null; then
      echo "$folder"
      return
    fi
  done
}

# step <name> <command...>: keeps the output in a file and the verdict for the end.
step() {
  local name="$1"
  shift
  [[ -z ${STEPS:-} || " $STEPS " == *" $name "* ]] || return 0
  echo "== $name"
  local start=$SECONDS
  "$@" >"$out/$name.txt" 2>&1
  local status=$?
  tail -n 4 "$out/$name.txt"
  echo "-- $((SECONDS - start)) s"
  if [[ $status -eq 0 ]]; then
    verdicts+=("ok      $name, $((SECONDS - start)) s")
  else
    grep '^\[  FAILED  \] ' "$out/$name.txt" | sort -u
    verdicts+=("FAILED  $name (exit code $status)")
    failed=1
  fi
}

# sharded <reports> <program> [tool ...]: all tests of a program, in as many processes as there are
# cores, each under the tool. Each process writes a report, <reports>.N.json; none if <reports> is
# empty. A test that did not run is a failure; a test that was skipped is named.
sharded() {
  local reports="$1" program="$2" shards shard pids=() status=0 all passed skipped left_out logs
  shift 2
  shards="$(nproc)"
  logs="$(mktemp -d)"
  for ((shard = 0; shard < shards; ++shard)); do
    GTEST_TOTAL_SHARDS="$shards" GTEST_SHARD_INDEX="$shard" "$@" "$program" \
      ${reports:+"--gtest_output=json:$reports.$shard.json"} >"$logs/$shard" 2>&1 &
    pids+=($!)
  done
  for shard in "${!pids[@]}"; do
    wait "${pids[shard]}" || { status=$?; echo "shard $shard failed"; }
  done
  cat "$logs"/*
  all="$("$program" --gtest_list_tests | grep -c '^  ')"
  passed="$(cat "$logs"/* | grep -c '^\[       OK \]')"
  skipped="$(cat "$logs"/* | grep '^\[  SKIPPED \] .* ms)$' | sort -u)"
  rm -r "$logs"
  left_out="$(grep -c . <<<"$skipped")"
  [[ $left_out -eq 0 ]] || echo "$skipped"
  echo "$passed of $all tests passed, $left_out skipped"
  [[ $all -gt 0 && $((passed + left_out)) -eq $all ]] || status=1
  return "$status"
}

# initcheck is wrong about programs with several host threads: memory that a stream has just written
# counts as unwritten if other threads allocate meanwhile. Under initcheck replicas take turns on a
# single thread, and tests about threads are left out. Launches block: if launches do not block,
# initcheck reports reads after copies of a second stream. The simulator finds missing waits.
sanitize() {
  local tool="$1" program="$2"
  if [[ $tool == initcheck ]]; then
    export BELFRY_TESTING_CARRIER=fiber CUDA_LAUNCH_BLOCKING=1
    export GTEST_FILTER="-Carriers.*:Conformance.A18_*:*OnEveryCarrier:*OnTheThreadThatCalledRun"
  fi
  RC_PARAMS="max_success=${CHECKED_CASES:-10}" sharded "" "$program" \
    compute-sanitizer --tool "$tool" --error-exitcode 9
  local status=$?
  unset BELFRY_TESTING_CARRIER CUDA_LAUNCH_BLOCKING GTEST_FILTER
  return "$status"
}

# Whether reports of initcheck about rings come from the tool or from an order: two rings of CUDA
# alone, each access ordered by events. The tool must report the ring with unwritten bytes in each
# run. A report about the right ring, whose sums are right, is a mistake of the tool.
initcheck_rings() {
  local program="$1" runs=10 run found=0 reported=0 status
  local check=(compute-sanitizer --tool initcheck --error-exitcode 9)
  for ((run = 0; run < runs; ++run)); do
    "${check[@]}" "$program" unwritten
    [[ $? -ne 9 ]] || found=$((found + 1))
    "${check[@]}" "$program" right
    status=$?
    [[ $status -ne 9 ]] || reported=$((reported + 1))
    [[ $status -eq 0 || $status -eq 9 ]] || return "$status"
  done
  "$program" right || return
  echo "unwritten bytes: reported in $found of $runs runs; the right ring: in $reported of $runs"
  if [[ $found -lt $runs ]]; then
    echo "initcheck misses unwritten bytes of rings"
    return 1
  elif [[ $reported -gt 0 ]]; then
    echo "decided: initcheck reports rings with complete orders; its reports of rings say nothing"
  else
    echo "decided: initcheck is right about rings; a report of a ring of belfry is a missing order"
  fi
}

# Tests that need a GPU, and a program with kernels of its own, which prints the same everywhere.
gpu_tests() {
  local folder="$1" expected="$2" status=0
  "$folder/cuda_gpu_test" || status=1
  "$folder/cublas_gpu_test" || status=1
  "$folder/gpu_kernels_on_gpus" >"$out/gpu_kernels.txt" || status=1
  diff "$expected" "$out/gpu_kernels.txt" || status=1
  return "$status"
}

# The simulator and the GPU train the same weights, to the bit.
same_digits() {
  local folder="$1" backend
  for backend in sim cuda; do
    "$folder/belfry" demo --quiet --backend "$backend" --file "$2" >"$out/demo_$backend.txt" ||
      return
    cat "$out/demo_$backend.txt"
  done
  grep -q 'digest' "$out/demo_sim.txt" && diff "$out/demo_sim.txt" "$out/demo_cuda.txt"
}

machine() {
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv
  uname -sr
}

run() {
  local folder="$1" data="$2" expected="$3" suite tool
  if ! nvidia-smi -L >/dev/null 2>&1; then
    echo "run_all.sh: no GPU here, or no driver" >&2
    return 3
  fi
  mkdir -p "$out/reports/nccl_ranks"
  cp "$folder/commit" "$out/reports/commit" 2>/dev/null ||
    git describe --always --dirty >"$out/reports/commit"
  LD_LIBRARY_PATH="$folder/lib:$(nccl_folder):$(cublas_folder):${LD_LIBRARY_PATH:-}"
  export LD_LIBRARY_PATH
  step machine machine
  # The suites and contracts in two to four processes on GPU 0: processes take turns on the GPU, and
  # a sum takes milliseconds.
  export BELFRY_LEFT_OUT_TESTS="$4"
  step nccl_ranks timeout 240 "$folder/suites_forked_gpu" "--cases=${RANK_CASES:-1}" \
    "--gtest_output=json:$out/reports/nccl_ranks/"
  step real_libraries "$folder/cuda_real_libraries_test"
  step driver_rules "$folder/driver_rules_gpu"
  step gpu gpu_tests "$folder" "$expected"
  step demo same_digits "$folder" "$data"
  step own_training "$folder/own_training_gpu" "$data"
  step lost_process "$folder/forked_loss_gpu"
  for suite in "${suites[@]}"; do
    RC_PARAMS="max_success=${CASES:-100}" step "$suite" sharded "$out/reports/$suite" \
      "$folder/$suite"
  done
  for tool in memcheck racecheck initcheck synccheck; do
    if command -v compute-sanitizer >/dev/null; then
      step "$tool" sanitize "$tool" "$folder/proptests_gpu"
    else
      verdicts+=("not run $tool: compute-sanitizer is not installed")
    fi
  done
  if command -v compute-sanitizer >/dev/null; then
    step initcheck_rings initcheck_rings "$folder/initcheck_ring"
  fi
  step local_clique_bench "$folder/local_clique_bench" --benchmark_repetitions=3
  local asked
  read -ra asked <<<"${STEPS:-}"
  if [[ ${#verdicts[@]} -lt ${#asked[@]} ]]; then
    verdicts+=("FAILED  a step of STEPS does not exist: $STEPS")
    failed=1
  fi
  printf '%s\n' "${verdicts[@]}" | tee "$out/verdicts.txt"
  return "$failed"
}

case "${1:-}" in
  "") build && run build/cuda/bin "$digits" "$printed" "$left_out" ;;
  --pack) pack "${2:?a folder}" ;;
  --from)
    run "${2:?a folder}" "$2/digits.csv" "$2/gpu_kernels.expected" "$2/suites_over_processes.txt"
    ;;
  *)
    sed -n '5,16s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
