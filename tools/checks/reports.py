# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""A reader of GoogleTest's reports."""

import json
import pathlib
import subprocess
import tempfile


def tests_of(run, patterns):
    """Returns [(suite, test)] of a report (.json), or of a program's tests that fit some patterns.

    Throws SystemExit if there is no report. A test is the entry of the report.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(run)
        if report.suffix != ".json":
            report = pathlib.Path(folder, "report.json")
            subprocess.run([run, f"--gtest_filter={':'.join(patterns)}",
                            f"--gtest_output=json:{report}"], stdout=subprocess.DEVNULL)
        if not report.exists():
            raise SystemExit(f"{run} left no report")
        suites = json.loads(report.read_text(encoding="utf-8"))["testsuites"]
    return [(suite["name"], test) for suite in suites for test in suite["testsuite"]]


def has_passed(test):
    return test.get("result") == "COMPLETED" and "failures" not in test
