#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Ends, kills or stops process 1 of 3, and checks that the others throw in time.

The fault `kill_two` kills two of four processes, each of them in turn.

With --enable-recovery, mpirun returns 0 whatever the processes do, and waits for stopped processes:
each process writes a file of its own. Without the option mpirun ends the job after a kill. With
`parts_` before the fault, the others wait for parts of process 1.

usage: process_loss_test.py FAULT RUNNER MPIRUN...
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import waiting
from waiting import fail

DEADLINE_S = 3
# Others use the processors, too.
SLACK_S = 100
PROCESSES = 3


def wait_for(path):
    return waiting.wait_for(path, DEADLINE_S + SLACK_S)


def check_lost(text, needle, least_s):
    seconds, _, message = text.partition("\n")
    print(f"after {float(seconds):.3f} s: {message.strip()}")
    if needle not in message:
        fail(f"the message lacks '{needle}'")
    # A millisecond is the precision of deadlines.
    if not least_s - 0.002 <= float(seconds) <= DEADLINE_S + SLACK_S:
        fail(f"the call took {seconds} s")


def check_survivors(fault, folder):
    """The processes 0 and 2 throw, and name process 1."""
    texts = [wait_for(folder / f"lost.{rank}") for rank in (0, 2)]
    if fault == "leave":
        for text in texts:
            check_lost(text, "BF-070 process 1 has left the group", 0)
        return
    for text in texts:
        # The second process to give up may hear of the loss from the first.
        check_lost(text, "BF-070 process 1 is lost: ", 0)
        if f"no answer for {DEADLINE_S} s" not in text or "process 1  on host " not in text:
            fail("the message lacks the reason, or the host")
    if max(float(text.partition("\n")[0]) for text in texts) < DEADLINE_S - 0.002:
        fail("no process waited for the deadline")


def start(fault, folder, program, mpirun, options, processes=PROCESSES, odd=()):
    command = [*mpirun, *options, "-n", str(processes), program, "process_loss", fault, str(folder),
               str(1000 * DEADLINE_S), *map(str, odd)]
    print(" ".join(command), flush=True)
    return subprocess.Popen(command, stdin=subprocess.DEVNULL)


def check_recovery(fault, program, mpirun):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        job = start(fault, folder, program, mpirun, ["--enable-recovery"])
        try:
            check_survivors(fault, folder)
            if fault.endswith("stop"):
                os.kill(int(wait_for(folder / "pid")), signal.SIGCONT)
                check_lost(wait_for(folder / "lost.1"),
                           "has given up this process, process 1: no answer for", 0)
            job.wait(timeout=SLACK_S)
        finally:
            job.kill()
            job.wait()


def check_two(program, mpirun):
    """Both are named by each process that is left."""
    for odd in ((0, 1), (1, 2), (2, 3), (0, 3)):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            job = start("kill", folder, program, mpirun, ["--enable-recovery"], 4, odd)
            try:
                for rank in set(range(4)) - set(odd):
                    check_lost(wait_for(folder / f"lost.{rank}"),
                               f"BF-070 processes {odd[0]},{odd[1]} are lost: ", 0)
                job.wait(timeout=SLACK_S)
            finally:
                job.kill()
                job.wait()


def check_without_recovery(program, mpirun):
    with tempfile.TemporaryDirectory() as name:
        job = start("kill", pathlib.Path(name), program, mpirun, [])
        try:
            status = job.wait(timeout=DEADLINE_S + SLACK_S)
        finally:
            job.kill()
            job.wait()
        if status == 0:
            fail("mpirun returned 0 after a kill")


def main():
    fault, program, *mpirun = sys.argv[1:]
    if fault == "kill_without_recovery":
        check_without_recovery(program, mpirun)
    elif fault == "kill_two":
        check_two(program, mpirun)
    else:
        check_recovery(fault, program, mpirun)
    print("1 passed, 0 failed")


if __name__ == "__main__":
    main()
