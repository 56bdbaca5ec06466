#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Passes when a test fails: the library it is linked with has a planted fault.

A crash, a time-out or a filter that names no test is no proof that the fault was noticed.

usage: expect_killed.py PROGRAM TEST
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile


def failures_of(report):
    """Returns the names of the tests that ran, and of those that failed."""
    ran, failed = [], []
    for suite in report["testsuites"]:
        for test in suite["testsuite"]:
            if test["status"] == "RUN":
                ran.append(f"{suite['name']}.{test['name']}")
                if test.get("failures"):
                    failed.append(ran[-1])
    return ran, failed


def main():
    program, test = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "report.json"
        run = subprocess.run([program, f"--gtest_filter={test}", f"--gtest_output=json:{output}"],
                             capture_output=True, text=True, timeout=240,
                             env=os.environ | {"RC_PARAMS": "max_success=300"})
        if not output.exists():
            sys.exit(f"{test} did not finish (status {run.returncode})\n{run.stderr}")
        ran, failed = failures_of(json.loads(output.read_text(encoding="utf-8")))
    if ran != [test]:
        sys.exit(f"ran {ran}, not {test}")
    if not failed:
        sys.exit(f"{test} passes although the library has a fault")
    print(f"{test} noticed the fault:\n{run.stdout}")


if __name__ == "__main__":
    main()
