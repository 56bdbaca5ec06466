#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that every rule of docs/semantics.md has a test that declared the rule, ran and passed.

A test declares rules by a call in its body, `testing::asserts("SEM-7", "SEM-8")`, of
belfry/testing/asserts.h. The call writes the rules to the report of the run. Errors are

- a rule that no passed test declared;
- a declared rule that does not exist;
- a test whose source declares a rule and whose run did not, or that failed or did not run.

The output ends with a table of the rules and their tests.

A run is a program, or the report (.json) that its tests have left. Of a program, only the tests
that declare rules are run. `--without` names a folder whose tests no run includes.

usage: asserted_rules.py --root . [--without FOLDER] --run TEST_PROGRAM_OR_REPORT ...
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import tree

RULES = "docs/semantics.md"
RULE_HEADING = re.compile(r"^### (SEM-\d+) \S", re.MULTILINE)
TEST = re.compile(r"^(?:(?:TYPED_)?TEST(?:_F|_P)?|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+),"
                  r"\s*(\w+)", re.MULTILINE)
# The body of a test ends with a brace at the beginning of a line, or in the line of its name.
END = re.compile(r"^\}|^(?:TYPED_)?TEST[^\n]*\}$", re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*")
CALL = re.compile(r"\basserts\(([^)]*)\)")
NAMED = re.compile(r'"(SEM-\d+)"')
HEADER = "proptests/include/belfry/testing/asserts.h"


def rules_of(files):
    return RULE_HEADING.findall(files.text(RULES)) if RULES in files.files else []


def tests_in(text):
    """Returns [(first, last, (suite, test))] of a source: the places of its tests."""
    found = []
    for head in TEST.finditer(text):
        end = END.search(text, head.start())
        found.append((head.start(), end.end() if end else len(text), head.groups()))
    return found


def declared_in(text):
    """Returns {(suite, test): [rules]} of a source, and the lines of calls outside tests."""
    text = COMMENT.sub("", text)
    tests, declared, stray = tests_in(text), {}, []
    for call in CALL.finditer(text):
        owner = [test for first, last, test in tests if first < call.start() < last]
        if owner:
            declared.setdefault(owner[0], []).extend(NAMED.findall(call[1]))
        else:
            stray.append(text.count("\n", 0, call.start()) + 1)
    return declared, stray


def declarations(files):
    """Yields (name, declared, stray) of each source with tests."""
    for name in files.code():
        if name != HEADER and "asserts(" in files.text(name):
            yield name, *declared_in(files.text(name))


def plain(suite, test):
    """Returns the names in the source of a test that a report names with types and parameters.

    `All/Run.Merges/3` is a test with a parameter, `Run/Tensors.Merges` a test with a type.
    """
    parts = suite.split("/")
    return parts[-2] if len(parts) > 1 and "/" not in test else parts[-1], test.split("/")[0]


def run(program, tests):
    """Runs some tests of a program; returns the text of the report."""
    names = [name for suite, test in sorted(tests)
             for name in (f"{suite}.{test}", f"{suite}/*.{test}", f"*/{suite}.{test}/*")]
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        subprocess.run([program, f"--gtest_filter={':'.join(names)}", "--gtest_brief=1",
                        f"--gtest_output=json:{report}"], stdout=subprocess.DEVNULL, check=False)
        return report.read_text() if report.exists() else '{"testsuites": []}'


def recorded(text):
    """Returns {(suite, test): (rules, passed)} of a report."""
    found = {}
    for suite in json.loads(text)["testsuites"]:
        for test in suite["testsuite"]:
            rules = {key for key in test if key.startswith("SEM-")}
            passed = test.get("result") == "COMPLETED" and "failures" not in test
            name = plain(suite["name"], test["name"])
            before = found.get(name, (set(), True))
            found[name] = before[0] | rules, before[1] and passed
    return found


def judge(rules, declared, runs):
    """Returns {rule: [tests]} and the problems. `declared` is {test: rules} of the sources."""
    table, problems = {rule: [] for rule in rules}, []
    for test, (found, passed) in sorted(runs.items()):
        for rule in sorted(found):
            if rule not in table:
                problems.append(f"{'.'.join(test)} declares {rule}, which is not in {RULES}")
            elif passed:
                table[rule].append(".".join(test))
            else:
                problems.append(f"{'.'.join(test)} declares {rule} and did not pass")
    for test, wanted in sorted(declared.items()):
        for rule in sorted(set(wanted) - runs.get(test, (set(), True))[0]):
            problems.append(f"{'.'.join(test)} declares {rule} in its source and in no run")
    problems += [f"{rule}: no passed test declared the rule" for rule in rules if not table[rule]]
    return table, problems


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--root", default=".")
    options.add_argument("--without", action="append", default=[], metavar="FOLDER")
    options.add_argument("--run", action="append", required=True, metavar="PROGRAM")
    options = options.parse_args()
    files = tree.Tree(options.root)
    declared = {}
    for name, tests, _ in declarations(files):
        if not any(name.startswith(folder) for folder in options.without):
            for test, rules in tests.items():
                declared.setdefault(test, []).extend(rules)
    runs, problems = {}, []
    for program in options.run:
        path = pathlib.Path(program)
        if not path.exists():
            problems.append(f"{program} does not exist")
            continue
        text = path.read_text() if path.suffix == ".json" else run(program, declared)
        for test, (rules, passed) in recorded(text).items():
            before = runs.get(test, (set(), True))
            runs[test] = before[0] | rules, before[1] and passed
    table, found = judge(rules_of(files), declared, runs)
    for rule, tests in table.items():
        print(f"{rule}: {', '.join(tests) or 'no test'}")
    problems += found
    for problem in problems:
        print(f"error: {problem}")
    print(f"{len(table)} rules, {len(problems)} errors")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
