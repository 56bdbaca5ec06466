# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the table of the suites' runs against the sources of the suites.

Each source with tests has a row with the number of its tests, and each row has a source. A cell of
a run is a number of passed tests, `PASSED of RUN`, or `not run`; `suite_runs.py` writes the cells
from the reports of GoogleTest. A column without a commit has no numbers.
"""

import re

import cpp
import page

PAGE = "docs/suites.md"
SUITES = (r"proptests/(suites/.*|strategies/\w+_test|processes/contracts_in_processes_test)\.cpp$"
          r"|proptests/include/belfry/testing/contract_tests\.h$")
RUNS = ("simulator", "driver", "one GPU", "NCCL ranks")
FACTS = ("commit", "date", "cases")
NOT_RUN = "not run"
CELL = re.compile(rf"\d+( of \d+)?|{NOT_RUN}")
HEAD = f"| suite | tests | {' | '.join(RUNS)} |"
TABLE = re.compile(rf"^{re.escape(HEAD)}\n(\|.*\n)*", re.MULTILINE)
# Tests that a function registers, one for each contract.
REGISTERED = re.compile(r"\bRegisterTest\(")


def tests_in(files):
    """Returns {source: number of tests} of the suites."""
    found = {}
    for name in files.named(SUITES):
        text = files.text(name)
        if count := len(cpp.TEST_HEAD.findall(text)) + len(REGISTERED.findall(text)):
            found[name] = count
    return found


def row_of(source):
    return f"`{source.removeprefix('proptests/').rpartition('.')[0]}`"


def read(files):
    """Returns {first cell: (line, other cells)} of the table."""
    return {cells[0]: (number, cells[1:])
            for number, cells in page.Page(files.text(PAGE)).rows(HEAD)}


def table_of(files, rows):
    """Returns the text of the table. `rows` has the cells of the runs, by first cell."""
    nothing = [NOT_RUN] * len(RUNS)
    lines = [HEAD, "|---" * (len(RUNS) + 2) + "|"]
    for fact in FACTS:
        lines.append(f"| {fact} | | {' | '.join(rows.get(fact, nothing))} |")
    for source, count in tests_in(files).items():
        name = row_of(source)
        lines.append(f"| {name} | {count} | {' | '.join(rows.get(name, nothing))} |")
    return "\n".join(lines) + "\n"


def replace(files, rows):
    """Puts a table into the page."""
    text = TABLE.sub(lambda _: table_of(files, rows), files.text(PAGE))
    (files.root / PAGE).write_text(text, encoding="utf-8")
    files.texts[PAGE] = text


def write(files):
    """Gives each suite a row with its number of tests. The cells of runs stay."""
    replace(files, {name: cells[1:] for name, (_, cells) in read(files).items()})


def check(files, report):
    rows = read(files)
    wanted = {row_of(source): str(count) for source, count in tests_in(files).items()}
    for name in (*FACTS, *wanted):
        if name not in rows:
            report.error(PAGE, f"no row {name}: run check.py --write suites")
    for name, (number, cells) in rows.items():
        where = f"{PAGE}:{number}"
        if len(cells) != len(RUNS) + 1:
            report.error(where, f"a row without {HEAD}")
        elif name in wanted:
            if cells[0] != wanted[name]:
                report.error(where, f"{name} has {wanted[name]} tests: run check.py --write suites")
            for run, commit, cell in zip(RUNS, rows.get("commit", (0, cells))[1][1:], cells[1:]):
                if not CELL.fullmatch(cell) or (commit == NOT_RUN and cell != NOT_RUN):
                    report.error(where, f"'{cell}' is no result of {run} at a commit")
        elif name not in FACTS:
            report.error(where, f"no suite is called {name}")
