#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that a test declares each rule of docs/semantics.md, by a call in the body of the test:
`testing::asserts("SEM-7")`, of belfry/testing/asserts.h. A comment is no declaration.

Each declared rule exists. The test docs.rules, by asserted_rules.py, checks that the tests ran.
"""

import asserted_rules
import tree


def check(files, report):
    rules, declared = asserted_rules.rules_of(files), set()
    for name, tests, outside in asserted_rules.declarations(files):
        for line in outside:
            report.error(f"{name}:{line}", "asserts() outside the body of a test")
        for test, named in tests.items():
            for rule in sorted(set(named) - set(rules)):
                report.error(name, f"{'.'.join(test)} declares {rule}, which is no rule of "
                                   f"{asserted_rules.RULES}")
            declared |= set(named)
    for rule in rules:
        if rule not in declared:
            report.error(asserted_rules.RULES, f"no test declares {rule}")


if __name__ == "__main__":
    tree.main(check, "rules with tests")
