#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""One process of three works, dies or is stopped between its last call and the end of its group.

Each of the three processes is the odd one in turn. The processes write files of their own: with
--enable-recovery, mpirun returns 0 whatever they do.

usage: farewell_test.py CASE RUNNER MPIRUN...
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import waiting
from waiting import fail

PROCESSES = 3
DEADLINE_MS = 500
# A stop is longer than the deadline, and the work that follows is shorter on a busy machine.
STOPPED_DEADLINE_MS = 4000
# Others use the processors, too.
SLACK_S = 200


def wait_until(is_true, what):
    waiting.wait_until(is_true, what, SLACK_S)


class Job:
    """The processes of mpirun, until the end of a block."""

    def __init__(self, command, case, odd, options, deadline_ms):
        runner, *mpirun = command
        self.odd = odd
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.errors = (self.path / "errors").open("w+")
        arguments = [*mpirun, *options, "-n", str(PROCESSES), runner, "farewell", case, str(odd),
                     str(self.path), str(deadline_ms)]
        print(" ".join(arguments), flush=True)
        self.mpirun = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stderr=self.errors)

    def __enter__(self):
        self.pids = [int(self.wait_for(f"pid.{rank}")) for rank in range(PROCESSES)]
        return self

    def __exit__(self, *_):
        self.say("go")
        self.mpirun.terminate()
        self.mpirun.wait()
        self.folder.cleanup()

    def wait_for(self, name):
        return waiting.wait_for(self.path / name, SLACK_S)

    def say(self, word):
        (self.path / word).touch()

    def others(self):
        return [rank for rank in range(PROCESSES) if rank != self.odd]

    def end_of(self, rank):
        return self.wait_for(f"end.{self.pids[rank]}")

    def has_ended(self, rank):
        return (self.path / f"end.{self.pids[rank]}").exists()

    def error_output(self):
        return (self.path / "errors").read_text()

    def expect_all_ended(self, note=None):
        """All processes have ended MPI, and have written nothing but the note."""
        ends = [self.end_of(rank) for rank in range(PROCESSES)]
        if ends != ["ended "] * PROCESSES:
            fail(f"the ends are {ends}")
        status = self.mpirun.wait(timeout=SLACK_S)
        if status != 0:
            fail(f"mpirun returned {status}: " + self.error_output())
        written = [line for line in self.error_output().splitlines() if "belfry: " in line]
        if any(note is None or note not in line for line in written):
            fail(f"the processes have written {written}")

    def expect_lost(self, reason):
        """The others have not ended MPI, and at least one has told why."""
        ends = [self.end_of(rank) for rank in self.others()]
        if ends != ["not ended "] * (PROCESSES - 1):
            fail(f"the ends are {ends}")
        text = f"BF-070 process {self.odd} is lost: {reason}"
        wait_until(lambda: text in self.error_output(), text)
        print(self.error_output())


def pass_time(milliseconds):
    """The time of a clock passes: deadlines of the processes are measured by the same clock."""
    end = time.monotonic() + milliseconds / 1000
    wait_until(lambda: time.monotonic() > end, "time")


def works(command, odd):
    """The work lasts for longer than all deadlines."""
    for options in ([], ["--enable-recovery"]):
        with Job(command, "works", odd, options, DEADLINE_MS) as job:
            pass_time(3 * DEADLINE_MS)
            note = f"waits for the farewell of process {odd}"
            wait_until(lambda: note in job.error_output(), note)
            if any(job.has_ended(rank) for rank in range(PROCESSES)):
                fail("a process has left without the process that works")
            job.say("go")
            job.expect_all_ended("waits for the farewell of process")


def dies(command, odd, case="dies"):
    with Job(command, case, odd, ["--enable-recovery"], DEADLINE_MS) as job:
        job.say("go")
        job.expect_lost("no farewell before the end of the process")


def dies_after_forks(command, odd):
    """A child of the dead process lives on."""
    dies(command, odd, "dies_forks")


def unseen(command, odd):
    """The process has no sockets: the farewell has its own deadline."""
    with Job(command, "unseen", odd, ["--enable-recovery"], DEADLINE_MS) as job:
        job.expect_lost(f"no answer for {DEADLINE_MS} ms")
        if "GroupOptions::farewell_deadline" not in job.error_output():
            fail("the text lacks the option")
        job.say("go")
        # The late process knows that it was given up, and does not wait for others in MPI's end.
        if not job.end_of(odd).startswith("not ended"):
            fail("the late process has ended MPI")


def suspended(command, odd):
    """All processes are stopped for longer than the deadline, and go on: nobody is lost."""
    with Job(command, "suspended", odd, [], STOPPED_DEADLINE_MS) as job:
        for pid in job.pids:
            os.kill(pid, signal.SIGSTOP)
        pass_time(1.25 * STOPPED_DEADLINE_MS)
        for rank in [*job.others(), odd]:
            os.kill(job.pids[rank], signal.SIGCONT)
        job.say("go")
        job.expect_all_ended()


def main():
    case, *command = sys.argv[1:]
    for odd in range(PROCESSES):
        globals()[case](command, odd)
    print(f"{PROCESSES} passed, 0 failed")


if __name__ == "__main__":
    main()
