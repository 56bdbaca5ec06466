#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that each rule of docs/semantics.md is declared by a test that ran and passed.

A test declares the rules whose outcome it asserts, by a call in its body:

    TEST(Run, Merges) {
      testing::asserts("SEM-7", "SEM-8");    // of belfry/testing/asserts.h

The rules are compared in three places: the page has the rules that exist, the sources have the
declarations of tests, and the reports of test programs have the declarations that were executed,
with the outcome of the test. These are errors:

- a rule of the page that no passed test declared;
- a rule that a test declared and the page lacks;
- a declaration by a test that failed;
- a declaration in the source of a test that no report has: the test did not run, or did not reach
  the declaration.

The output lists the tests of each rule, then the errors.

Each --run names a test program, or the report (.json) of an earlier execution. Of a program, only
tests with declarations are executed. The tests in the folder of --without are in no --run, and
their declarations need no report.

usage: asserted_rules.py --root . [--without FOLDER] --run TEST_PROGRAM_OR_REPORT ...
"""

import argparse
import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import tree

RULES = "docs/semantics.md"
HEADER = "proptests/include/belfry/testing/asserts.h"
RULE_HEADING = re.compile(r"^### (SEM-\d+) \S", re.MULTILINE)
TEST_HEAD = re.compile(
    r"^(?:(?:TYPED_)?TEST(?:_F|_P)?|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+),\s*(\w+)",
    re.MULTILINE)
# The body of a test ends with a brace at the beginning of a line, or in the line of its head.
TEST_END = re.compile(r"^\}|^(?:TYPED_)?TEST[^\n]*\}$", re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*")
ASSERTS_CALL = re.compile(r"\basserts\(([^)]*)\)")
RULE_IN_CALL = re.compile(r'"(SEM-\d+)"')


@dataclasses.dataclass
class Outcome:
    """What reports say about a test; a test with types or parameters is executed several times."""
    rules: set = dataclasses.field(default_factory=set)
    passed: bool = True

    def add(self, rules, passed):
        self.rules |= rules
        self.passed = self.passed and passed


def rules_of(files):
    """Returns the rules of the page."""
    return RULE_HEADING.findall(files.text(RULES)) if RULES in files.files else []


def tests_in(text):
    """Returns [(first, last, (suite, test))]: the places of the tests in the text of a source."""
    found = []
    for head in TEST_HEAD.finditer(text):
        end = TEST_END.search(text, head.start())
        found.append((head.start(), end.end() if end else len(text), head.groups()))
    return found


def declared_in(text):
    """Returns {(suite, test): [rules]} of a source, and the lines of calls outside of tests."""
    text = COMMENT.sub("", text)
    tests, declared, outside = tests_in(text), {}, []
    for call in ASSERTS_CALL.finditer(text):
        around = [test for first, last, test in tests if first < call.start() < last]
        if around:
            declared.setdefault(around[0], []).extend(RULE_IN_CALL.findall(call[1]))
        else:
            outside.append(text.count("\n", 0, call.start()) + 1)
    return declared, outside


def declarations(files):
    """Yields (source, {(suite, test): [rules]}, lines of calls outside of tests)."""
    for source in files.code():
        if source != HEADER and "asserts(" in files.text(source):
            yield source, *declared_in(files.text(source))


def declared_by_tests(files, without):
    """Returns {(suite, test): {rules}} of all sources outside the folders `without`."""
    declared = {}
    for source, tests, _ in declarations(files):
        if not source.startswith(tuple(without)):
            for test, rules in tests.items():
                declared.setdefault(test, set()).update(rules)
    return declared


def name_in_source(suite, test):
    """Returns the (suite, test) of the source for the names in a report.

    Reports add a parameter, `All/Run.Merges/3`, or a type, `Run/Tensors.Merges`. Both of these are
    ("Run", "Merges").
    """
    parts = suite.split("/")
    has_type = len(parts) > 1 and "/" not in test
    return parts[-2] if has_type else parts[-1], test.split("/")[0]


def execute(program, tests):
    """Executes some tests of a program; returns the text of the report."""
    patterns = [pattern for suite, test in sorted(tests)
                for pattern in (f"{suite}.{test}", f"{suite}/*.{test}", f"*/{suite}.{test}/*")]
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        subprocess.run([program, f"--gtest_filter={':'.join(patterns)}", "--gtest_brief=1",
                        f"--gtest_output=json:{report}"], stdout=subprocess.DEVNULL, check=False)
        return report.read_text() if report.exists() else '{"testsuites": []}'


def read_report(text, outcomes):
    """Adds the tests of a report to `outcomes`, {(suite, test): Outcome}."""
    for suite in json.loads(text)["testsuites"]:
        for test in suite["testsuite"]:
            rules = {key for key in test if key.startswith("SEM-")}
            passed = test.get("result") == "COMPLETED" and "failures" not in test
            name = name_in_source(suite["name"], test["name"])
            outcomes.setdefault(name, Outcome()).add(rules, passed)


def outcomes_of(runs, tests):
    """Returns {(suite, test): Outcome} of all programs and reports, and a list of problems."""
    outcomes, problems = {}, []
    for run in runs:
        path = pathlib.Path(run)
        if not path.exists():
            problems.append(f"{run} does not exist")
            continue
        read_report(path.read_text() if path.suffix == ".json" else execute(run, tests), outcomes)
    return outcomes, problems


def tests_of_rules(rules, outcomes):
    """Returns {rule: [passed tests that declared the rule]}, and a list of problems."""
    tests, problems = {rule: [] for rule in rules}, []
    for name in sorted(outcomes):
        test, outcome = ".".join(name), outcomes[name]
        for rule in sorted(outcome.rules):
            if rule not in tests:
                problems.append(f"{test} declares {rule}, which is not in {RULES}")
            elif not outcome.passed:
                problems.append(f"{test} declares {rule} and did not pass")
            else:
                tests[rule].append(test)
    return tests, problems


def not_executed(declared, outcomes):
    """Returns a problem for each declaration of a source that no report has."""
    return [f"{'.'.join(test)} declares {rule} in its source and in no run"
            for test, rules in sorted(declared.items())
            for rule in sorted(rules - outcomes.get(test, Outcome()).rules)]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--root", default=".")
    options.add_argument("--without", action="append", default=[], metavar="FOLDER")
    options.add_argument("--run", action="append", required=True, metavar="PROGRAM")
    options = options.parse_args()
    files = tree.Tree(options.root)
    declared = declared_by_tests(files, options.without)
    outcomes, problems = outcomes_of(options.run, declared)
    tests, wrong_declarations = tests_of_rules(rules_of(files), outcomes)
    problems += wrong_declarations + not_executed(declared, outcomes)
    problems += [f"{rule}: no passed test declared the rule" for rule in tests if not tests[rule]]
    for rule, names in tests.items():
        print(f"{rule}: {', '.join(names) or 'no test'}")
    for problem in problems:
        print(f"error: {problem}")
    print(f"{len(tests)} rules, {len(problems)} errors")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
