#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests that are named by rows of the conformance catalogue, and writes or compares
docs/conformance.md, which says what became of each row.

A test is named by the rows it covers: `TEST(Suite, CTX_07_StrategiesDoNotMix)`, or
`GAT_05_GAT_06_...` for two. A comment above it, or in it, that has `Overridden:` says which
decision gives belfry another outcome; `Overridden (GAT-06):` says it of some of the test's rows,
and `Overridden: as above.` repeats the last one of the file. Elsewhere one is a problem.

Each row has a line of the facts: what is done, and what comes of it in the reference systems.

A run is a program, or the report (.json) that its tests have left.

usage: conformance.py --root . --run NAME=TEST_PROGRAM_OR_REPORT ... [--write]
"""

import argparse
import pathlib
import re
import sys

import cpp
import reports
import tree

ROWS = "docs/data/conformance_rows.txt"
FACTS = "docs/data/conformance_facts.txt"
PAGE = "docs/conformance.md"
FAMILY = re.compile(r"^([A-Z]+) \| ([^|]+) \| ([\d ]+)$")
REASON = re.compile(r"^([A-Z]+)-(\d+)(?: to \1-(\d+))? : (.+)$")
FACT = re.compile(r"^([A-Z]+-\d+) : (.+)$")
# Where a test or a section begins or ends.
BORDER = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\w+,\s+(\w+)\)|^#ifdef (\w+)$|^#endif$|^}",
                    re.MULTILINE)
COMMENT = re.compile(r"(?:^[ \t]*//[^\n]*\n)+", re.MULTILINE)
OVERRIDDEN = re.compile(r"\bOverridden(?: \(([^)]*)\))?: (.+)")


def read_rows(text):
    """Returns {family: (title, [numbers])} and {row: reason}."""
    families, reasons = {}, {}
    for line in text.splitlines():
        if found := FAMILY.match(line):
            title, numbers = families.setdefault(found[1], (found[2], []))
            numbers += found[3].split()
        elif found := REASON.match(line):
            last = int(found[3] or found[2])
            for number in range(int(found[2]), last + 1):
                reasons[f"{found[1]}-{number:02}"] = found[4]
        elif line and not line.startswith("#"):
            raise SystemExit(f"{ROWS}: not understood: {line}")
    return families, reasons


def read_facts(text):
    """Returns {row: fact}."""
    facts = {}
    for line in text.splitlines():
        if found := FACT.match(line):
            if found[1] in facts:
                raise SystemExit(f"{FACTS}: {found[1]} has two facts")
            facts[found[1]] = found[2]
        elif line and not line.startswith("#"):
            raise SystemExit(f"{FACTS}: not understood: {line}")
    return facts


def rows_of(name, families):
    """Returns the rows that a test's name begins with."""
    rows = []
    while found := re.match(r"([A-Z]+)_?(\d+)(?:_|$)", name):
        if found[1] not in families:
            break
        rows.append(f"{found[1]}-{found[2]}")
        name = name[found.end():]
    return rows


def test_of(text, comment):
    """Returns the test, or the section, that a comment stands above or in; else nothing."""
    above = BORDER.match(text, comment.end())
    if above and not comment[0][0].isspace():
        return above[1] or above[2]
    borders = list(BORDER.finditer(text, 0, comment.start()))
    return borders[-1][1] or borders[-1][2] if borders else None


def overridden_in(text, families):
    """Returns {(test, row): why} for the rows whose outcome a decision changed, and problems."""
    why, problems, last = {}, [], ""
    for comment in COMMENT.finditer(text):
        words = " ".join(line.strip().lstrip("/").strip() for line in comment[0].splitlines())
        if "Overridden" not in words:
            continue
        line = text.count("\n", 0, comment.start()) + 1
        test, reason = test_of(text, comment), OVERRIDDEN.search(words)
        rows = rows_of(test or "", families)
        chosen = reason[1].split(", ") if reason and reason[1] else rows
        if not reason or not rows or not set(chosen) <= set(rows):
            problems.append(f"{line}: 'Overridden' that belongs to no row of a test")
            continue
        last = last if reason[2].startswith("as above") else reason[2].strip()
        why |= {(test, row): last for row in chosen}
    return why, problems


def results_of(program, families):
    """Returns {test: passed} for the conformance tests of a program or of its report."""
    patterns = [f"*.{family}{then}" for family in families for then in ("_*", "??_*")]
    passed = {}
    for _, test in reports.tests_of(program, patterns):
        name = test["name"].split("/")[0]  # Of all types and parameters.
        if rows_of(name, families):
            passed[name] = passed.get(name, True) and reports.has_passed(test)
    return passed


def sections(files):
    """Returns the sections that must not compile, whose tests ctest runs: `compile_fail_*`. One
    that no CMakeLists.txt lists has none."""
    found = {}
    for name in files.code():
        if "/compile_fail/" in name:
            listed = files.text(str(pathlib.PurePath(name).parent / "CMakeLists.txt")).split()
            listed = {word.strip(")") for word in listed}
            found |= {section: section in listed
                      for section in cpp.SECTION.findall(files.text(name))}
    return found


def tests_by_row(results, families):
    """Returns {row: {test: [programs that ran it]}} and the tests that failed."""
    rows, failed = {}, []
    for program, tests in results.items():
        for test, passed in tests.items():
            if not passed:
                failed.append(f"{test} on {program}")
            for row in rows_of(test, families):
                rows.setdefault(row, {}).setdefault(test, []).append(program)
    return rows, failed


def line_of(row, fact, tests, why, reasons):
    if row in reasons:
        return f"| {row} | not applicable | {fact} | {reasons[row]} |"
    if not tests:
        return f"| {row} | open | {fact} | no test yet |"
    texts = [f"`{test}` ({', '.join(where)})" for test, where in sorted(tests.items())]
    notes = [why[test, row] for test in sorted(tests) if (test, row) in why]
    notes = list(dict.fromkeys(notes))
    outcome = "overridden" if notes else "tested"
    return f"| {row} | {outcome} | {fact} | {'; '.join(texts + notes)} |"


def page(families, facts, reasons, rows, why):
    body, count = [], {}
    for family, (title, numbers) in families.items():
        body += [f"## {family}: {title}", "", "| row | outcome | fact | test, or why |",
                 "|---|---|---|---|"]
        for number in numbers:
            row = f"{family}-{number}"
            body.append(line_of(row, facts.get(row, ""), rows.get(row), why, reasons))
            outcome = body[-1].split(" | ")[1]
            count[outcome] = count.get(outcome, 0) + 1
        body.append("")
    total = ", ".join(f"{count[outcome]} {outcome}" for outcome in sorted(count, reverse=True))
    head = ["# Conformance", "",
            "The page lists the collected facts about the reference systems' contexts, runs,",
            "variables, reductions, algorithms, packs, orders of additions, gathers, input,",
            "slices and clusters. A fact says what is done, and what comes of it in the reference",
            "systems. N is the number of replicas, two unless the fact says more; ids begin with",
            "0. [a, b] has a value for each replica, or is a list of numbers. Numbers are exact",
            "unless a tolerance is given.",
            "`tools/checks/conformance.py` writes the page from a run of the tests that are named",
            "by the rows: on the simulator (sim), on the host half of the CUDA backend (cuda), or",
            "in the tests of core (core), or on simulated clusters (clusters). Sections that must",
            "not compile are not part of the run: ctest compiles each section in a test",
            "`compile_fail_*`, and the page has the sections that are listed for ctest.", "",
            "| outcome | meaning |", "|---|---|",
            "| tested | belfry has the outcome of the row |",
            "| overridden | belfry has an outcome of its own, which a page of decisions explains |",
            "| not applicable | the row has no subject in belfry |",
            "", f"Rows: {total}.", ""]
    return "\n".join(head + body).rstrip("\n") + "\n"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--root", default=".")
    options.add_argument("--run", action="append", required=True, metavar="NAME=PROGRAM")
    options.add_argument("--write", action="store_true")
    options = options.parse_args()
    files = tree.Tree(options.root)
    families, reasons = read_rows(files.text(ROWS))
    results = {}
    for each in options.run:
        name, program = each.split("=", 1)
        results.setdefault(name, {}).update(results_of(program, families))
    results["must not compile"] = sections(files)
    rows, failed = tests_by_row(results, families)
    known = {f"{family}-{number}" for family, (_, numbers) in families.items()
             for number in numbers}
    unknown = sorted(set(rows) - known)
    why = {}
    for name in files.code():
        found, problems = overridden_in(files.text(name), families)
        why.update(found)
        failed += [f"{name}:{problem}" for problem in problems]
    facts = read_facts(files.text(FACTS))
    failed += [f"{row} has no line in {FACTS}" for row in sorted(known - set(facts))]
    unknown += sorted(set(facts) - known)
    text = page(families, facts, reasons, rows, why)
    if options.write:
        (files.root / PAGE).write_text(text)
    elif (files.root / PAGE).read_text() != text:
        failed.append(f"{PAGE} is not what the tests give: run this with --write")
    for problem in failed + [f"{row} is in no catalogue" for row in unknown]:
        print(problem)
    print(f"{len(rows)} rows with tests, {len(failed) + len(unknown)} problems")
    return 1 if failed or unknown else 0


if __name__ == "__main__":
    sys.exit(main())
