#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Kills a process of a training of four, and lets three processes finish the training.

The end must be that of the plan, which this script computes by itself, with one loop over the
examples. With --enable-recovery the three other processes must end with the status 3 of the
program, in time; without the option, mpirun must end with a status that is not 0.

usage: after_a_loss_test.py RUNNER MPIRUN...
"""

import pathlib
import subprocess
import sys
import tempfile
import time

STEPS = 40
STEPS_BETWEEN_SAVES = 5
EXAMPLES_OF_A_STEP = 12
KILLED_AT = 13  # The latest save is the one after step 10.
DEADLINE_S = 3
# Others use the processors, too.
SLACK_S = 100
# mpirun has no status of its own for each process.
WITH_STATUS = ["bash", "-c", '"$@"; echo $? >"$0.$OMPI_COMM_WORLD_RANK"']


def fail(text):
    sys.exit(f"error: {text}")


def feature(i, j):
    return (i * (2 * j + 3) + j) % 11 - 5


def plan():
    """Returns the last line of the program, from one loop."""
    weights, loss = [0, 0, 0], 0
    for step in range(STEPS):
        change = [0, 0, 0]
        for i in range(step * EXAMPLES_OF_A_STEP, (step + 1) * EXAMPLES_OF_A_STEP):
            x = [feature(i, j) for j in range(3)]
            target = 2 * x[0] - 3 * x[1] + x[2] + i % 3
            error = 256 * target - sum(w * one for w, one in zip(weights, x))
            loss += error * error
            change = [c + error * one for c, one in zip(change, x)]
        weights = [w + (c >> 9) for w, c in zip(weights, change)]
    return f"weights {weights[0]} {weights[1]} {weights[2]}, loss {loss}"


def run(command):
    """Returns the status of a job, its output, and its messages."""
    print(" ".join(command), flush=True)
    begin = time.monotonic()
    job = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         timeout=DEADLINE_S + SLACK_S)
    seconds = time.monotonic() - begin
    print(job.stdout, job.stderr, f"status {job.returncode} after {seconds:.1f} s", flush=True)
    return job.returncode, job.stdout, job.stderr


def statuses_of(folder):
    return {int(path.suffix[1:]): int(path.read_text()) for path in folder.glob("status.*")}


def lose(victim, recovers, folder, program, mpirun):
    """Runs the job whose process `victim` is killed."""
    file = folder / "files" / "training"
    file.parent.mkdir()
    options = ["--enable-recovery"] if recovers else []
    status, text, messages = run([*mpirun, *options, "-n", "4", *WITH_STATUS,
                                  str(folder / "status"), program, "after_a_loss", str(file),
                                  str(DEADLINE_S), str(victim), str(KILLED_AT)])
    if "after step 0\n" not in text:
        fail("the first job does not begin with step 0")
    if "weights" in text:
        fail("the first job ends as if nothing had happened")
    if recovers:
        wanted = {process: 3 for process in range(4)} | {victim: 128 + 9}
        if statuses_of(folder) != wanted:
            fail(f"the processes end with {statuses_of(folder)}, not {wanted}")
        if messages.count(f"process {victim} is lost: ") < 3:
            fail(f"not all others say that process {victim} is lost")
    elif status == 0:
        fail("mpirun returns 0 after a kill")
    # A draft of a checkpoint would be another file. The other file names the job that saves.
    names = [path.name for path in file.parent.iterdir()]
    others = [name for name in names if not name.startswith(".training.belfry-owner-")]
    if others != ["training"] or len(names) > 2:
        fail(f"the job leaves the files {names}")
    return file


def go_on(file, program, mpirun):
    """Runs the job of three processes that ends the training."""
    status, text, _ = run([*mpirun, "-n", "3", program, "after_a_loss", str(file),
                           str(DEADLINE_S + SLACK_S)])
    saved = KILLED_AT - KILLED_AT % STEPS_BETWEEN_SAVES
    wanted = f"after step {saved}\n{plan()}\n"
    if status != 0 or text != wanted:
        fail(f"the second job ends with status {status}; wanted:\n{wanted}")


def main():
    program, *mpirun = sys.argv[1:]
    # Process 0 writes the checkpoints.
    for victim, recovers in ((2, True), (0, True), (1, False)):
        with tempfile.TemporaryDirectory() as name:
            go_on(lose(victim, recovers, pathlib.Path(name), program, mpirun), program, mpirun)
    print("3 passed, 0 failed")


if __name__ == "__main__":
    main()
