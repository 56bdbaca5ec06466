# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that cited rules, codes and paths exist, and that pages with a full list are complete.

- Every SEM-n, INV-n and BF-nnn that any file cites exists. The rules of docs/semantics.md are in
  order, each once; each invariant has one row there, and the tests it names exist.
- Every code has one section in docs/errors.md, with a message where some source uses the code, and
  the word Reserved where none does.
- Every function that a backend may implement is in docs/backends.md with its signature.
- Every path of the tree that a page names in code type exists.
"""

import re

import cpp
import page
import rules
import tree

INTERFACE = "docs/backends.md"
# They show codes and rules that do not exist, on purpose.
EXEMPT = re.compile(r"tools/checks/|core/src/words/error(_code)?_test\.cpp$")
# Places where naming a code throws nothing. The library belfry::testing throws.
NO_USE = re.compile(r"^(docs|proptests(?!/src))/|/testing/|_(test|bench|fuzz)\.\w+$|"
                    rf"{rules.CODES}$|core/src/words/error\.cpp$")
CITED = re.compile(r"\b(?:SEM-\d+|INV-\d+|BF-\d{3})\b")
USED = re.compile(r"\bErrorCode::(k\w+)")
NAMED_TEST = re.compile(r"`(\w+\.\w+)`")
TOP = re.compile(r"^(core|backends|proptests|tools|docs|\.ci)/[\w./*{},-]*$|^belfry/[\w./*]+\.h$")


def check_cited(files, report):
    known = {*rules.rules_of(files), *dict(rules.invariants_of(files)), *rules.codes_of(files)}
    for name in files.files if rules.RULES in files.files else ():
        text = "" if EXEMPT.match(name) else files.text(name)
        for found in CITED.finditer(text):
            if found[0] not in known:
                report.error(f"{name}:{tree.line_of(text, found.start())}",
                             f"{found[0]} is in none of {rules.RULES} and {rules.CODES}")


def check_rules(files, report):
    numbers = [int(rule.partition("-")[2]) for rule in rules.rules_of(files)]
    if numbers != sorted(set(numbers)):
        report.error(rules.RULES, "the rules are not in the order of their numbers, each once")
    rows = rules.invariants_of(files)
    if [name for name, _ in rows] != [f"INV-{number + 1}" for number in range(len(rows))]:
        report.error(rules.RULES, "the rows of invariants are not INV-1, INV-2 and so on")
    tests = cpp.tests_of(files)
    for name, row in rows:
        named = NAMED_TEST.findall(row)
        for test in sorted(set(named) - tests) if named else ["named"]:
            report.error(rules.RULES, f"{name}: there is no test {test}")


def check_codes(files, report):
    sections = rules.sections_of(files)
    codes = [f"{code} {name}" for code, name in rules.codes_of(files).items()]
    if sorted(heading for heading, _ in sections) != sorted(codes) and sections:
        differ = {heading for heading, _ in sections} ^ set(codes)
        report.error(rules.ERRORS, "the sections are not those of the codes, each once: "
                     + ", ".join(sorted(differ)))
    used = {code for name in files.code() if not NO_USE.search(name)
            for code in USED.findall(files.text(name))}
    for heading, text in sections:
        is_used = heading.split()[1] in used
        if is_used == ("Reserved" in text):
            report.error(rules.ERRORS, f"{heading} is used, and its section says Reserved"
                         if is_used else f"{heading} is used by nobody, and does not say Reserved")
        elif is_used and not re.search("<!-- (output|no example): ", text):
            report.error(rules.ERRORS, f"{heading} shows no message")


def squeezed(text):
    return re.sub(r"\s+", " ", re.sub(r"\[\[\w+\]\]", "", text)).strip()


def check_interface(files, report):
    quoted = set(page.QUOTED.findall(squeezed(files.text(INTERFACE))))
    for name in files.named(r"core/include/belfry/backend/\w+\.h$"):
        for declared in cpp.declarations(files.text(name)):
            signature = squeezed(declared.head.removeprefix("virtual ").removesuffix("= 0"))
            if (declared.head.startswith("virtual ") and declared.body is None
                    and "~" not in signature and signature not in quoted):
                report.error(name, f"`{signature}` is not in {INTERFACE}")


def exists(listing, path):
    """Says whether a path, maybe with * or {a,b}, names something of the tree."""
    pattern = re.escape(path.rstrip("/")).replace(r"\*", r"[^/\n]*")
    pattern = re.sub(r"\\\{([^}]*)\\\}", lambda m: "(" + m[1].replace(",", "|") + ")", pattern)
    above = r"[\w/]*include/" if path.startswith("belfry/") else ""
    return re.search(f"^{above}{pattern}(/|$)", listing, re.MULTILINE) is not None


def check_paths(files, report):
    listing = "\n".join(files.files)
    # The page of changes names headers of former times: another check has its rows.
    for name in set(files.pages()) - {"docs/changes.md"}:
        for number, line in files.lines(name):
            for path in page.QUOTED.findall(line):
                if TOP.match(path) and "NAME" not in path and not exists(listing, path):
                    report.error(f"{name}:{number}", f"{path} does not exist")


def check(files, report):
    for part in (check_cited, check_rules, check_codes, check_interface, check_paths):
        part(files, report)
