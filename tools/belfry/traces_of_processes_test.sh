#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Each process of `belfry demo --mpi --trace PATH` writes a trace of its own devices to PATH.RANK.
# Usage: traces_of_processes_test.sh TOOL MPIRUN [OPTION ...]
set -euo pipefail

tool=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# 3 replicas on 2 processes: 2 devices and 1. A process numbers its replicas from 0.
"$@" -n 2 "$tool" demo --mpi --replicas 3 --epochs 1 --quiet --trace "$folder/trace" \
  > "$folder/out"
[[ ! -e $folder/trace ]]
python3 - "$folder/trace" <<'PYTHON'
import json
import sys

for rank, wanted in [(0, ["R0", "R1"]), (1, ["R0"])]:
    with open(f"{sys.argv[1]}.{rank}", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    found = sorted(line["agent"] for line in lines
                   if "step" not in line and line.get("kind") == "replica")
    assert found == wanted, f"process {rank} has the replicas {found}, not {wanted}"
    assert lines[-1]["end"], f"the trace of process {rank} has no end"
PYTHON
