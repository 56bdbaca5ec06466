#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Writes a column of the table of docs/suites.md from the reports of a run.

usage: suite_runs.py [--root FOLDER] --commit COMMIT RUN REPORT...

RUN is a column: simulator, driver, "one GPU", "NCCL ranks". REPORT is a file of
--gtest_output=json. A test of several reports has passed if it passed in each; a skipped test has
not passed. Suites that no report has are `not run`. The date is that of the youngest report; the
cases are those that each property was asked for, as the programs record them.
"""

import argparse
import collections
import json
import pathlib
import sys

import check_suites
import reports
import tree


class Column:
    """The results of a run."""

    def __init__(self):
        self.outcomes = collections.defaultdict(dict)  # {row: {test: passed}}
        self.dates, self.cases = set(), set()

    def add(self, path):
        whole = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        self.dates.add(whole["timestamp"][:10])
        if "cases" in whole:
            self.cases.add(int(whole["cases"]))
        for suite, test in reports.tests_of(path, ()):
            if test["status"] != "RUN":
                continue
            folder, _, source = test["file"].rpartition("proptests/")
            row, name = check_suites.row_of(source), (suite, test["name"])
            passed = self.outcomes[row].get(name, True) and reports.has_passed(test)
            self.outcomes[row][name] = passed

    def cell(self, row):
        outcomes = self.outcomes.get(row, {}).values()
        if not outcomes:
            return check_suites.NOT_RUN
        every = len(outcomes)
        return str(every) if all(outcomes) else f"{sum(outcomes)} of {every}"

    def facts(self, commit):
        cases = " to ".join(map(str, sorted({min(self.cases), max(self.cases)})
                                if self.cases else [check_suites.NOT_RUN]))
        return {"commit": commit, "date": max(self.dates), "cases": cases}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--commit", required=True)
    parser.add_argument("run", choices=check_suites.RUNS)
    parser.add_argument("reports", nargs="+", metavar="REPORT")
    given = parser.parse_args()
    if given.commit.endswith("-dirty"):
        parser.error(f"{given.commit} is no commit: other readers have other files")
    column, files = Column(), tree.Tree(given.root)
    for path in given.reports:
        column.add(path)
    place = check_suites.RUNS.index(given.run) + 1
    facts, rows = column.facts(given.commit), {}
    check_suites.write(files)
    for name, (_, cells) in check_suites.read(files).items():
        cells[place] = facts.get(name) or column.cell(name)
        rows[name] = cells[1:]
    check_suites.replace(files, rows)
    strange = sorted(set(column.outcomes) - set(rows))
    if strange:
        print(f"no row for the tests of {', '.join(strange)}")
    return 1 if strange else 0


if __name__ == "__main__":
    sys.exit(main())
