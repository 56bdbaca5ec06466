#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Whether belfry works on a host with several GPUs: runs all that needs a GPU, where replicas have
# GPUs of their own and NCCL joins them, and writes a report that the owner of the host can send.
#
#   tools/gpu/acceptance.sh                build here, run here
#   tools/gpu/acceptance.sh --from FOLDER  run files that run_all.sh --pack has gathered
#
# The report is $OUT/acceptance.txt, or out/acceptance.txt. The exit code is 0 if every step
# passed, 1 if a step failed, 3 without two GPUs.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 3
export OUT="${OUT:-out}"
report="$OUT/acceptance.txt"

gpus="$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ')"
if [[ $gpus -lt 2 ]]; then
  echo "acceptance.sh: $gpus GPUs; at least 2 are needed (one GPU: tools/gpu/run_all.sh)" >&2
  exit 3
fi

tools/gpu/run_all.sh "$@"
status=$?

# The text of a command, or why there is none.
told() {
  "$@" 2>&1 || echo "($1 gave $?)"
}

# Accepted is a host on which every step has run and passed.
verdict() {
  if [[ $status -ne 0 ]]; then
    echo "NOT ACCEPTED"
  elif [[ -n ${STEPS:-} ]] || grep -q '^not run' "$OUT/verdicts.txt"; then
    echo "not accepted: steps have not run; those that ran passed"
  else
    echo accepted
  fi
}

{
  echo "belfry on $gpus GPUs: $(verdict)"
  echo "commit $(git describe --always --dirty 2>/dev/null || echo unknown), $(date -u +%F)"
  echo
  cat "$OUT/verdicts.txt" 2>/dev/null || echo "no step has run"
  echo
  echo "== machine"
  cat "$OUT/machine.txt" 2>/dev/null
  told nvidia-smi topo -m
  told nvcc --version | tail -n 2
  grep -hoE 'NCCL version [0-9.+a-z]+' "$OUT"/*.txt 2>/dev/null | sort -u
  echo
  echo "== tests that failed or were skipped"
  grep -hE '^\[  (FAILED|SKIPPED) \]' "$OUT"/*.txt 2>/dev/null | sort -u
  echo
  echo "== the ends of the steps"
  for step in "$OUT"/*.txt; do
    [[ $step == "$report" ]] && continue
    echo "-- $(basename "$step" .txt)"
    tail -n 15 "$step"
  done
} >"$report"
echo "the report: $report"
exit "$status"
