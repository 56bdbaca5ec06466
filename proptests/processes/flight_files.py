#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks files of flight recorders against the format 2.10 of PyTorch's recorder.

    flight_files.py PROGRAM    runs PROGRAM PREFIX, and checks the files of its two processes
"""

import json
import pathlib
import subprocess
import sys
import tempfile

TOP = {str: "version comm_lib_version", dict: "nccl_comm_state pg_config pg_status belfry",
       list: "entries"}
ENTRY = {
    int: "record_id pg_id collective_seq_id p2p_seq_id op_id time_created_ns "
         "time_discovered_started_ns time_discovered_completed_ns timeout_ms",
    str: "profiling_name state thread_id thread_name",
    list: "process_group input_sizes output_sizes input_dtypes output_dtypes",
    bool: "is_p2p retired",
}
DTYPES = {"Float", "Double", "Half", "BFloat16", "Int", "Long", "Short", "Byte", "Char", "Bool"}


def require(holds, what):
    if not holds:
        raise SystemExit(f"wrong: {what}")


def check_members(value, kinds, where):
    for kind, names in kinds.items():
        for name in names.split():
            require(type(value.get(name)) is kind, f"{where}: {name} is {value.get(name)!r}")


def check_entry(entry, file, where):
    check_members(entry, ENTRY, where)
    require(entry["state"] in ("scheduled", "started", "completed"), f"{where}: {entry['state']}")
    require(entry["retired"] == (entry["state"] == "completed"), f"{where}: retired")
    require(entry["process_group"][0] in file["pg_config"], f"{where}: its group")
    require(str(entry["pg_id"]) in file["pg_status"], f"{where}: no status of {entry['pg_id']}")
    for side in ("input", "output"):
        sizes, dtypes = entry[f"{side}_sizes"], entry[f"{side}_dtypes"]
        require(len(sizes) == len(dtypes) and set(dtypes) <= DTYPES, f"{where}: {dtypes}")
        require(all(type(extent) is int for size in sizes for extent in size), f"{where}: {sizes}")


def check_file(path):
    """The file as JSON, with the members of the format."""
    file = json.loads(path.read_text(encoding="utf-8"))
    check_members(file, TOP, path.name)
    require(file["version"] == "2.10", f"{path.name}: version")
    rank = file["belfry"]["rank"]
    require(path.name.endswith(f"rank{rank}.json"), f"{path.name}: rank {rank}")
    for name, group in file["pg_config"].items():
        require(group["name"] == name, f"{path.name}: the name of {name}")
        require(rank in json.loads(group["ranks"]), f"{path.name}: {rank} is not in {name}")
    for status in file["pg_status"].values():
        order = [int(status[f"last_{state}_collective"])
                 for state in ("completed", "started", "enqueued")]
        require(order == sorted(order), f"{path.name}: {order}")
    for number, entry in enumerate(file["entries"]):
        check_entry(entry, file, f"{path.name}: entry {number}")
        require(entry["record_id"] == number, f"{path.name}: record {number}")
    return file


def check_stay_away(files):
    """Process 0 waits in the second operation, which rank 3 has not entered."""
    for rank, file in enumerate(files):
        own = file["belfry"]
        require((own["ranks"], own["processes"], own["process"]) == (4, 2, rank // 2),
                f"rank {rank}: {own}")
        require(json.loads(file["pg_config"]["0"]["ranks"]) == [0, 1, 2, 3], f"rank {rank}: ranks")
        seen = [(entry["profiling_name"], entry["state"], entry["input_sizes"],
                 entry["belfry"].get("op")) for entry in file["entries"]]
        all_seen = [("belfry:merge_call", "completed", [], None),
                    ("belfry:all_reduce", "scheduled", [[2]], "sum")]
        require(seen == all_seen[:1 if rank == 3 else 2], f"rank {rank}: {seen}")
        require(own["reason"] == ("failure" if rank < 2 else "call"), f"rank {rank}: the reason")
        require(own["host_state"] == ("running" if rank == 3 else "waiting"), f"rank {rank}: state")
    require(files[0]["belfry"]["error"]["code"] == "BF-070", "the error of rank 0")


def main():
    with tempfile.TemporaryDirectory() as folder:
        prefix = pathlib.Path(folder) / "job-"
        subprocess.run([sys.argv[1], str(prefix)], check=True)
        check_stay_away([check_file(pathlib.Path(f"{prefix}rank{rank}.json")) for rank in range(4)])
    print("4 files of 2 processes are as they should be")


if __name__ == "__main__":
    main()
