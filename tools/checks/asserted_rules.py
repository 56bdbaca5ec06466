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
import re
import sys

import cpp
import reports
import rules
import tree

ASSERTS_CALL = re.compile(r"\basserts\(([^)]*)\)")
RULE_IN_CALL = re.compile(r'"(SEM-\d+)"')


def declared_in_sources(files, without):
    """Returns {(suite, test): {rules}} of all sources outside the folders `without`."""
    declared = {}
    for source in files.code():
        text = "" if source.startswith(tuple(without)) else files.text(source)
        for test, body in cpp.tests(text).items() if "asserts(" in text else ():
            found = {rule for call in ASSERTS_CALL.findall(body)
                     for rule in RULE_IN_CALL.findall(call)}
            if found:
                declared.setdefault(test, set()).update(found)
    return declared


def name_in_source(suite, test):
    """Returns the (suite, test) of the source for the names in a report.

    Reports add a parameter, `All/Run.Merges/3`, or a type, `Run/Tensors.Merges`. Both of these are
    ("Run", "Merges").
    """
    parts = suite.split("/")
    has_type = len(parts) > 1 and "/" not in test
    return parts[-2] if has_type else parts[-1], test.split("/")[0]


def outcomes_of(runs, declared):
    """Returns {(suite, test): [rules of the reports, passed]}; a test may be executed with several
    types or parameters.
    """
    patterns = [pattern for suite, test in sorted(declared)
                for pattern in (f"{suite}.{test}", f"{suite}/*.{test}", f"*/{suite}.{test}/*")]
    outcomes = {}
    for run in runs:
        for suite, test in reports.tests_of(run, patterns):
            outcome = outcomes.setdefault(name_in_source(suite, test["name"]), [set(), True])
            outcome[0] |= {key for key in test if key.startswith("SEM-")}
            outcome[1] &= reports.has_passed(test)
    return outcomes


def compare(known, declared, outcomes):
    """Returns {rule: [passed tests that declared the rule]}, and a list of problems."""
    tests, problems = {rule: [] for rule in known}, []
    for name, (executed, passed) in sorted(outcomes.items()):
        test = ".".join(name)
        for rule in sorted(executed):
            if rule not in tests:
                problems.append(f"{test} declares {rule}, which is not in {rules.RULES}")
            elif not passed:
                problems.append(f"{test} declares {rule} and did not pass")
            else:
                tests[rule].append(test)
    problems += [f"{'.'.join(test)} declares {rule} in its source and in no run"
                 for test, wanted in sorted(declared.items())
                 for rule in sorted(wanted - outcomes.get(test, [set()])[0])]
    problems += [f"{rule}: no passed test declared the rule" for rule in tests if not tests[rule]]
    return tests, problems


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--root", default=".")
    options.add_argument("--without", action="append", default=[], metavar="FOLDER")
    options.add_argument("--run", action="append", required=True, metavar="PROGRAM")
    options = options.parse_args()
    files = tree.Tree(options.root)
    declared = declared_in_sources(files, options.without)
    outcomes = outcomes_of(options.run, declared)
    tests, problems = compare(rules.rules_of(files), declared, outcomes)
    for rule, names in tests.items():
        print(f"{rule}: {', '.join(names) or 'no test'}")
    for problem in problems:
        print(f"error: {problem}")
    print(f"{len(tests)} rules, {len(problems)} errors")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
