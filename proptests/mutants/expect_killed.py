#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Passes when a test fails: its program has a planted fault.

A crash, a time-out or a filter that names no test is no proof that the fault was noticed. The
control, without a fault, passes when each of the tests runs and passes.

usage: expect_killed.py PROGRAM TEST [--fault NAME]
       expect_killed.py PROGRAM TEST... --control
"""

import argparse
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


def run(program, tests, fault):
    """Returns the run, and the names of the tests that ran and of those that failed."""
    chosen = {"BELFRY_TESTING_FAULT": fault} if fault else {}
    environment = {name: value for name, value in os.environ.items()
                   if name != "BELFRY_TESTING_FAULT"}
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "report.json"
        ended = subprocess.run([program, f"--gtest_filter={':'.join(tests)}",
                                f"--gtest_output=json:{output}"],
                               capture_output=True, text=True, timeout=240,
                               env=environment | {"RC_PARAMS": "max_success=300",
                                                  "BELFRY_TESTING_TRACES": "0"} | chosen)
        if not output.exists():
            sys.exit(f"{tests} did not finish (status {ended.returncode})\n{ended.stderr}")
        return ended, *failures_of(json.loads(output.read_text(encoding="utf-8")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("program")
    parser.add_argument("tests", nargs="+", metavar="test")
    parser.add_argument("--fault")
    parser.add_argument("--control", action="store_true")
    given = parser.parse_args()
    if not given.control and len(given.tests) != 1:
        parser.error("a fault is noticed by one test")
    tests = sorted(set(given.tests))
    ended, ran, failed = run(given.program, tests, given.fault)
    if sorted(ran) != tests:
        sys.exit(f"ran {ran}, not {tests}")
    if given.control and (failed or ended.returncode != 0):
        sys.exit(f"{failed or tests} fail without a fault (status {ended.returncode})\n"
                 f"{ended.stdout}")
    if not given.control and not failed:
        sys.exit(f"{tests[0]} passes although the library has a fault")
    says = "pass without a fault" if given.control else "noticed the fault"
    print(f"{', '.join(tests)} {says}:\n{ended.stdout}")


if __name__ == "__main__":
    main()
