#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Prints the tests of a run of ctest that did not run, each with its reason.

- A test of ctest that was skipped: the reason is the last line of its output.
- A test inside a program with several tests: reports/<program>.json has the names, and the output
  of the program the reasons, in the same order. A report that is older than the run is of an
  earlier run: the program ended before it wrote its own. A program without a report tests skips
  themselves: those are no tests that did not run.

usage: not_run.py BUILD_FOLDER JUNIT_FILE (of `ctest --output-junit`)
"""

import datetime
import json
import pathlib
import re
import sys
import xml.etree.ElementTree

REASON = re.compile(r"^.+:\d+: Skipped\n(.*)$", re.MULTILINE)


def skipped_in(report):
    """Returns the names of the skipped tests of a report, in the order in which they ran."""
    return [f"{suite['name']}.{test['name']}" for suite in report["testsuites"]
            for test in suite["testsuite"] if test.get("result") == "SKIPPED"]


def start_of(suite):
    """Returns the second in which the run began, 0 if the file does not tell."""
    written = suite.get("timestamp")
    return datetime.datetime.fromisoformat(written).timestamp() if written else 0


def not_run(build, junit):
    """Yields pairs of a name and a reason."""
    suite = xml.etree.ElementTree.parse(junit).getroot()
    for case in suite.iter("testcase"):
        name, output = case.get("name"), case.findtext("system-out", "")
        if case.get("status") in ("notrun", "disabled"):
            yield name, (output.strip().splitlines() or ["no reason"])[-1]
            continue
        report = build / "reports" / f"{name}.json"
        if report.is_file() and report.stat().st_mtime < start_of(suite):
            yield name, "the program ended without a report of its tests"
        elif report.is_file():
            names, reasons = skipped_in(json.loads(report.read_text())), REASON.findall(output)
            if len(names) != len(reasons):
                reasons = [f"see the output of {name}"] * len(names)
            yield from zip(names, reasons)


def main():
    for name, reason in not_run(*map(pathlib.Path, sys.argv[1:])):
        print(f"  not run: {name}: {reason}")


if __name__ == "__main__":
    main()
