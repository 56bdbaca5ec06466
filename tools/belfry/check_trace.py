#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks a file of `belfry export --perfetto` with Python's own reader of JSON.

usage: check_trace.py TRACE

The file is a list of events in the trace-event format. Each step of the trace has a slice. In
each row times do not decrease, and of two slices one contains the other, or they are apart. No row
has the number of its group, or 0: Perfetto would show the row as the main thread of the group. An
arrow leads from a place to a later place.
"""

import collections
import json
import pathlib
import sys

ARROWS = {"s", "t", "f"}


def faults_of_rows(events):
    """Yields the faults in the order of each row."""
    time, ends = collections.Counter(), collections.defaultdict(list)
    for event in events:
        row = event["pid"], event["tid"]
        if event["ts"] < time[row]:
            yield f"row {row} goes back from {time[row]} to {event['ts']}"
        time[row] = event["ts"]
        if event["ph"] != "X":
            continue
        end = event["ts"] + event["dur"]
        while ends[row] and ends[row][-1] <= event["ts"]:
            ends[row].pop()
        if ends[row] and ends[row][-1] < end:
            yield f"row {row} has a slice that ends at {end}, after the slice around it"
        ends[row].append(end)
    yield from (f"row {row} would be a main thread" for row in ends if row[1] in (0, row[0]))


def faults_of_arrows(events):
    """Yields the arrows that do not lead from one place to a later one."""
    places = collections.defaultdict(list)
    for event in events:
        if event["ph"] in ARROWS:
            places[event["name"], event["id"]].append((event["ph"], event["ts"]))
    for arrow, steps in places.items():
        path = "".join(phase for phase, _ in steps)
        times = [time for _, time in steps]
        if path != "s" + "t" * (len(steps) - 2) + "f" or times != sorted(times):
            yield f"arrow {arrow} has the steps {steps}"


def faults_of(trace):
    """Yields the faults of a parsed trace."""
    events = [event for event in trace["traceEvents"] if event["ph"] != "M"]
    steps = [event["args"]["step"] for event in events if event.get("cat") == "operation"]
    operations = trace["otherData"]["operations"]
    if sorted(steps) != list(range(operations)):
        yield f"{len(steps)} slices do not stand for {operations} operations, one each"
    titled = {(event["pid"], event["tid"]) for event in trace["traceEvents"]
              if event["ph"] == "M" and event["name"] == "thread_name"}
    for row in sorted({(event["pid"], event["tid"]) for event in events} - titled):
        yield f"row {row} has no name"
    yield from faults_of_rows(events)
    yield from faults_of_arrows(events)


def main():
    trace = json.loads(pathlib.Path(sys.argv[1]).read_bytes().decode("utf-8"))
    faults = list(faults_of(trace))
    for fault in faults[:10]:
        print(f"FAILED: {sys.argv[1]}: {fault}")
    print(f"{sys.argv[1]}: {trace['otherData']['operations']} operations, {len(faults)} faults")
    return 1 if faults or not trace["traceEvents"] else 0


if __name__ == "__main__":
    sys.exit(main())
