#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that the page of other systems' names and the test of those names agree.

Each row of a table has a name, its spelling in belfry, and its proof:

- test: every spelling in code type in the middle column is used by the test;
- a name in capitals: a section of that name, which must not compile, is in core/src/compile_fail;
- none: belfry has nothing of the kind, and the middle column says why.

Every name of the namespace that the test uses, or that the header declares, is on the page.
"""

import re

import tree

PAGE = "docs/tf_mapping.md"
TEST = "core/extras/to" + "wer/src/to" + "wer_test.cpp"
HEADERS = re.compile(r"core/extras/to" + r"wer/include/belfry/to" + r"wer(/verbs|/input)?\.h$")
SECTIONS = re.compile(r"core/src/compile_fail/\w+\.cpp$")

SPACE = "to" + "wer::"
ROW = re.compile(r"^\| (.+) \| (.+) \| (\w+) \|$")
QUOTED = re.compile(r"`([^`]+)`")
USED = re.compile(rf"\b{SPACE}(\w+)")
DECLARED = re.compile(r"^(?:using (\w+) =|concept (\w+) =|inline constexpr \w+ (\w+) =)",
                      re.MULTILINE)
FUNCTION = re.compile(r"^(?:inline |constexpr )?(?:decltype\(auto\)|\w[\w:<>&* ]*?)[ &*](\w+)"
                      r"\([^;{]*\) \{", re.MULTILINE)



def spelling(quoted):
    """Returns what a test must contain to have used a spelling."""
    if quoted.startswith('"'):
        return quoted
    name = re.match(r"[\w:]+", quoted)[0]
    return name if name.startswith(SPACE) else name.rpartition("::")[2]


def contains(text, wanted):
    return re.search(r"(?<!\w)" + re.escape(wanted) + r"(?!\w)", text) is not None


def check_row(report, where, row, test, sections):
    _, belfry, shown = row
    quoted = QUOTED.findall(belfry)
    if shown == "test":
        if not quoted:
            report.error(where, "the row names nothing that the test could use")
        for text in quoted:
            if not contains(test, spelling(text)):
                report.error(where, f"{TEST} does not use {spelling(text)}")
    elif shown != "none" and shown not in sections:
        report.error(where, f"no file of core/src/compile_fail has a section {shown}")


def declared(files):
    names = set()
    for path in files.files:
        if HEADERS.match(path):
            text = files.text(path)
            names |= {name for found in DECLARED.findall(text) for name in found if name}
            names |= set(FUNCTION.findall(text))
    return names


def check(files, report):
    if PAGE not in files.files or TEST not in files.files:
        return
    page, test = files.text(PAGE), files.text(TEST)
    sections = {name for path in files.files if SECTIONS.match(path)
                for name in re.findall(r"^#ifdef (\w+)", files.text(path), re.MULTILINE)}
    rows = 0
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("| name |"):
            continue
        row = ROW.match(line)
        if row:
            rows += 1
            check_row(report, f"{PAGE}:{number}", row.groups(), test, sections)
        elif line.startswith("|") and not re.match(r"^[|-]+$", line):
            report.error(f"{PAGE}:{number}", "a row that is not name, belfry, shown by")
    if not rows:
        report.error(PAGE, "there are no rows")
    for name in sorted(set(USED.findall(test)) | declared(files)):
        if not contains(page, SPACE + name):
            report.error(PAGE, f"{SPACE}{name} has no row")


if __name__ == "__main__":
    tree.main(check, "mapping")
