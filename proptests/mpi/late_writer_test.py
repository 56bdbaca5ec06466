#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Stops process 0 in a save, lets the next job save, and lets process 0 go on.

Process 0 must throw, and the file must have what the next job has saved; the next job after that
restores and saves once more.

usage: late_writer_test.py RUNNER MPIRUN...
"""

import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile

import waiting
from waiting import fail

DEADLINE_S = 3
# Others use the processors, too.
SLACK_S = 100


def wait_for(path):
    return waiting.wait_for(path, DEADLINE_S + SLACK_S)


def step_of(file):
    contents = file.read_bytes()
    length = struct.unpack("<Q", contents[:8])[0]
    begin, end = json.loads(contents[8:8 + length])["step"]["data_offsets"]
    return struct.unpack("<q", contents[8 + length:][begin:end])[0]


def expect_step(file, step, when):
    if step_of(file) != step:
        fail(f"{when} the file has step {step_of(file)}, not {step}")


class Job:
    def __init__(self, file, folder, steps, stopped, program, mpirun, deadline_s=DEADLINE_S):
        folder.mkdir()
        self.folder = folder
        command = [*mpirun, "--enable-recovery", "-n", "2", program, "late_writer", str(file),
                   str(folder), str(1000 * deadline_s), *map(str, steps), str(stopped)]
        print(" ".join(command), flush=True)
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def end(self):
        try:
            self.process.wait(timeout=DEADLINE_S + SLACK_S)
        finally:
            self.process.kill()
            self.process.wait()
        if list(self.folder.glob("lost.*")):
            fail(f"a process of {self.folder.name} is lost")


def overtake(folder, stopped, program, mpirun):
    """The old job stops during the save of step `stopped`."""
    file = folder / "files" / "training"
    file.parent.mkdir()
    old = Job(file, folder / "old", (1, 3), stopped, program, mpirun)
    try:
        pid = int(wait_for(old.folder / "pid"))
        if "process 0 is lost: no answer" not in wait_for(old.folder / "lost.1"):
            fail("process 1 does not give up process 0")
        Job(file, folder / "next", (30, 31), 0, program, mpirun, SLACK_S).end()
        expect_step(file, 31, "after the next job")
        os.kill(pid, signal.SIGCONT)
        if "has given up this process, process 0" not in wait_for(old.folder / "lost.0"):
            fail("process 0 does not hear that it was given up")
        expect_step(file, 31, "after the late process")
    finally:
        old.process.kill()
        old.process.wait()
    Job(file, folder / "last", (32, 32), 0, program, mpirun, SLACK_S).end()
    expect_step(file, 32, "at the end")
    names = [path.name for path in file.parent.iterdir()]
    if len(names) != 2 or any("part" in name for name in names):
        fail(f"the jobs leave the files {names}")


def main():
    program, *mpirun = sys.argv[1:]
    for stopped in (1, 3):
        with tempfile.TemporaryDirectory() as name:
            overtake(pathlib.Path(name), stopped, program, mpirun)
    print("2 passed, 0 failed")


if __name__ == "__main__":
    main()
