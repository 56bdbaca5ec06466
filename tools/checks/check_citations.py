#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that cited rules, codes and paths exist, and that pages with a full list are complete.

- Every SEM-n that any file cites is a rule of docs/semantics.md, and no rule is there twice.
- Every BF-nnn is a code of error_code.h; every code has one section in docs/errors.md, with a
  message where some source uses the code, and the word Reserved where none does.
- Every function that a backend may implement is in docs/backends.md with its signature.
- Every INV-n that any file cites has one row in docs/semantics.md, and the tests it names exist.
- Every path of the tree that a page names in code type exists.
"""

import re

import tree

CODES = "core/include/belfry/error.h"
ERRORS = "docs/errors.md"
RULES = "docs/semantics.md"
INTERFACE = "docs/backends.md"
# They show codes and rules that do not exist, on purpose.
EXEMPT = re.compile(r"tools/checks/|core/src/words/error(_code)?_test\.cpp$")

# Places where naming a code throws nothing. The library belfry::testing throws.
NO_USE = re.compile(r"^(docs|proptests(?!/src))/|/testing/|_(test|bench|fuzz)\.\w+$")

RULE = re.compile(r"\bSEM-(\d+)\b")
RULE_RANGE = re.compile(r"\bSEM-(\d+) to SEM-(\d+)\b")
RULE_HEADING = re.compile(r"^### SEM-(\d+) \S", re.MULTILINE)
INVARIANT = re.compile(r"\bINV-(\d+)\b")
INVARIANT_ROW = re.compile(r"^\| INV-(\d+) \|.*", re.MULTILINE)
NAMED_TEST = re.compile(r"`(\w+)\.(\w+)`")
TEST = re.compile(r"\b(?:TYPED_)?TEST(?:_F)?\((\w+), (\w+)\)")
CODE = re.compile(r"\bBF-(\d{3})\b")
CODE_HEADING = re.compile(r"^### BF-(\d{3}) (k\w+)$", re.MULTILINE)
ENUMERATOR = re.compile(r"^  (k\w+) = (\d+),", re.MULTILINE)
VIRTUAL = re.compile(r"\bvirtual ([^;{}]*?)(?: = 0)?;")
QUOTED = re.compile(r"`([^`]+)`")
TOP = re.compile(r"^(core|backends|proptests|tools|docs|\.ci)/[\w./*{},-]*$|^belfry/[\w./*]+\.h$")


def check_rules(files, report):
    if RULES not in files.files:
        return
    rules = [int(n) for n in RULE_HEADING.findall(files.text(RULES))]
    for rule in sorted({n for n in rules if rules.count(n) > 1}):
        report.error(RULES, f"SEM-{rule} is there twice")
    if rules != sorted(rules):
        report.error(RULES, "the rules are not in the order of their numbers")
    for name in files.files:
        if EXEMPT.match(name):
            continue
        for number, line in enumerate(files.text(name).splitlines(), 1):
            cited = {int(n) for n in RULE.findall(line)}
            for cite in sorted(cited - set(rules)):
                report.error(f"{name}:{number}", f"SEM-{cite} is not a rule of {RULES}")
            for first, last in RULE_RANGE.findall(line):
                if int(first) >= int(last):
                    report.error(f"{name}:{number}", f"SEM-{first} to SEM-{last} is no range")


def check_invariants(files, report):
    if RULES not in files.files:
        return
    rows = [(int(row[1]), row[0]) for row in INVARIANT_ROW.finditer(files.text(RULES))]
    numbers = [number for number, _ in rows]
    if numbers != list(range(1, len(rows) + 1)):
        report.error(RULES, "the rows of invariants are not INV-1, INV-2 and so on")
    tests = {test for name in files.code() for test in TEST.findall(files.text(name))}
    for number, row in rows:
        named = NAMED_TEST.findall(row)
        if not named:
            report.error(RULES, f"INV-{number} names no test")
        for suite, test in named:
            if (suite, test) not in tests:
                report.error(RULES, f"INV-{number}: there is no test {suite}.{test}")
    for name in files.files:
        if EXEMPT.match(name):
            continue
        for cite in sorted({int(n) for n in INVARIANT.findall(files.text(name))} - set(numbers)):
            report.error(name, f"INV-{cite} is not an invariant of {RULES}")


def sections(text):
    """Returns {heading: body} of the sections about codes."""
    parts = re.split(r"^### (BF-\d{3} k\w+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def uses(files, name):
    """Says whether a source can throw a code: one that names it, apart from the list of all."""
    word = re.compile(rf"\bErrorCode::{name}\b")
    return any(word.search(files.text(path)) for path in files.code()
               if not NO_USE.search(path) and path not in (CODES, "core/src/words/error.cpp"))


def check_codes(files, report):
    if CODES not in files.files or ERRORS not in files.files:
        return
    codes = {int(number): name for name, number in ENUMERATOR.findall(files.text(CODES))}
    found = CODE_HEADING.findall(files.text(ERRORS))
    for number, name in found:
        if codes.get(int(number)) != name:
            report.error(ERRORS, f"there is no code BF-{number} {name}")
        if found.count((number, name)) > 1:
            report.error(ERRORS, f"BF-{number} is there twice")
    bodies = sections(files.text(ERRORS))
    for number, name in codes.items():
        heading = f"BF-{number:03} {name}"
        if heading not in bodies:
            report.error(CODES, f"{heading} has no section in {ERRORS}")
        elif ("Reserved" in bodies[heading]) == uses(files, name):
            said = "is used, but its section says Reserved" if uses(files, name) else \
                "is used by nobody, but its section does not say Reserved"
            report.error(ERRORS, f"{heading} {said}")
        elif uses(files, name) and "<!-- output: " not in bodies[heading] \
                and "<!-- no example: " not in bodies[heading]:
            report.error(ERRORS, f"{heading} shows no message")
    for name in files.files:
        if not EXEMPT.match(name):
            for cite in CODE.findall(files.text(name)):
                if int(cite) not in codes:
                    report.error(name, f"BF-{cite} is not a code of {CODES}")


def squeezed(text):
    return re.sub(r"\s+", " ", re.sub(r"\[\[\w+\]\]", "", text)).strip()


def check_interface(files, report):
    if INTERFACE not in files.files:
        return
    page = squeezed(files.text(INTERFACE))
    quoted = set(QUOTED.findall(page))
    for name in files.files:
        if not re.match(r"core/include/belfry/backend/\w+\.h$", name):
            continue
        text = re.sub(r"//[^\n]*", "", files.text(name))
        for signature in VIRTUAL.findall(text):
            if "~" not in signature and squeezed(signature) not in quoted:
                report.error(name, f"`{squeezed(signature)}` is not in {INTERFACE}")


def exists(files, path):
    """Says whether a path, maybe with * or {a,b}, names something that git tracks."""
    pattern = re.escape(path.rstrip("/")).replace(r"\*", r"[^/]*")
    pattern = re.sub(r"\\\{([^}]*)\\\}", lambda m: "(" + m[1].replace(",", "|") + ")", pattern)
    if path.startswith("belfry/"):
        pattern = r"[\w/]*include/" + pattern
    return any(re.match(pattern + "(/|$)", name) for name in files.files)


def check_paths(files, report):
    for name in files.files:
        if not name.endswith(".md"):
            continue
        for number, line in enumerate(files.text(name).splitlines(), 1):
            for path in QUOTED.findall(line):
                if TOP.match(path) and "NAME" not in path and not exists(files, path):
                    report.error(f"{name}:{number}", f"{path} does not exist")


def check(files, report):
    check_rules(files, report)
    check_invariants(files, report)
    check_codes(files, report)
    check_interface(files, report)
    check_paths(files, report)


if __name__ == "__main__":
    tree.main(check, "citations")
