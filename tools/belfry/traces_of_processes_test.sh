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

# 3 replicas on 2 processes: 2 devices and 1. A process numbers the rows of its replicas from 0.
"$@" -n 2 "$tool" demo --mpi --replicas 3 --epochs 1 --quiet --trace "$folder/trace.json" \
  > "$folder/out"
[[ ! -e $folder/trace.json ]]
for rank in 0 1; do
  python3 "${BASH_SOURCE[0]%/*}/check_trace.py" "$folder/trace.json.$rank"
done
python3 - "$folder/trace.json" <<'PYTHON'
import json
import sys


def replicas_of(path):
    """The rows of the trace that are replicas."""
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    events = data["traceEvents"] if isinstance(data, dict) else data
    rows = [e["args"]["name"] for e in events if e.get("name") == "thread_name"]
    return sorted(row for row in rows if row[0] == "R" and row[1:].isdigit())


for rank, wanted in [(0, ["R0", "R1"]), (1, ["R0"])]:
    found = replicas_of(f"{sys.argv[1]}.{rank}")
    assert found == wanted, f"process {rank} has the rows {found}, not {wanted}"
PYTHON
