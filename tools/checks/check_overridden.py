#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that a decision stands behind each row of the conformance catalogue that is overridden.

The page of conformance says which rows are; a page of decisions names them in the first cell of
a table: `RUN-04, RG-01 to RG-10`. What it names is on the page.
"""

import re

import tree

PAGE = "docs/conformance.md"
DECISIONS = re.compile(r"docs/decisions/\d+-.+\.md$")
OUTCOME = re.compile(r"^\| ([A-Z]+-\d+) \| (\w+)", re.MULTILINE)
CELL = re.compile(r"^\| ([A-Z]+-\d+[^|]*) \|", re.MULTILINE)
ROWS = re.compile(r"([A-Z]+)-(\d+)(?: to \1-(\d+))?")


def rows_in(cell):
    for family, first, last in ROWS.findall(cell):
        for number in range(int(first), int(last or first) + 1):
            yield f"{family}-{number:02}"


def check(files, report):
    if PAGE not in files.files:
        return
    outcomes = dict(OUTCOME.findall(files.text(PAGE)))
    decided = {}
    for path in filter(DECISIONS.match, files.files):
        for cell in CELL.findall(files.text(path)):
            decided |= dict.fromkeys(rows_in(cell), path)
    for row, path in decided.items():
        if row not in outcomes:
            report.error(path, f"{row} is no row of {PAGE}")
    for row, outcome in outcomes.items():
        if outcome == "overridden" and row not in decided:
            report.error(PAGE, f"no page of decisions names {row}")


if __name__ == "__main__":
    tree.main(check, "overridden rows")
