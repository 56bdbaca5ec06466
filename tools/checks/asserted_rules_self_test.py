#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Gives planted reports to asserted_rules.py, and compares the tests of each rule."""

import json
import subprocess
import sys
import unittest

import asserted_rules
import self_test


class RulesOfRuns(self_test.CheckTest):
    """A declaration counts if the test passed and the report of the run has the declaration."""
    TEST = self_test.Rules.TEST

    def setUp(self):
        super().setUp()
        self.write("docs/semantics.md", self_test.Rules.PAGE)
        self.write("core/src/run/a_test.cpp", self.TEST)

    def judge(self, *tests, without=()):
        suites = [{"name": suite, "testsuite": [test]} for suite, test in tests]
        report = self.root / "report.json"
        report.write_text(json.dumps({"testsuites": suites}))
        folders = [word for folder in without for word in ("--without", folder)]
        script = self_test.CHECKS / "asserted_rules.py"
        run = subprocess.run([sys.executable, script, "--root", self.root, "--run", report,
                              *folders], capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr

    @staticmethod
    def merges(*rules, name="Merges", **more):
        return {"name": name, "result": "COMPLETED", **dict.fromkeys(rules, "asserted"), **more}

    def test_prints_the_tests_of_each_rule(self):
        status, output = self.judge(("Run", self.merges("SEM-1", "SEM-22")))
        self.assertEqual((status, output), (0, "SEM-1: Run.Merges\nSEM-22: Run.Merges\n"
                                               "2 rules, 0 errors\n"))

    def test_finds_tests_of_types_and_parameters(self):
        self.assertEqual(asserted_rules.name_in_source("Run/0", "Merges"), ("Run", "Merges"))
        self.assertEqual(asserted_rules.name_in_source("Run/Tensors", "Merges"), ("Run", "Merges"))
        self.assertEqual(asserted_rules.name_in_source("All/Run", "Merges/3"), ("Run", "Merges"))
        passed = self.merges("SEM-1", "SEM-22")
        self.assertEqual(self.judge(("Run/0", passed), ("Run/1", passed))[0], 0)
        failed = passed | {"failures": [{}]}
        self.assertEqual(self.judge(("Run/0", passed), ("Run/1", failed))[0], 1)

    def test_reports_declarations_without_effect(self):
        for test in (self.merges(), self.merges("SEM-1"),
                     self.merges("SEM-1", "SEM-22", failures=[{}]),
                     self.merges("SEM-1", "SEM-22") | {"result": "SKIPPED"},
                     self.merges("SEM-1", "SEM-22", name="Other")):
            status, output = self.judge(("Run", test))
            self.assertEqual((status, "error: " in output), (1, True), output)
        status, output = self.judge(("Run", self.merges("SEM-1")))
        self.assertIn("error: Run.Merges declares SEM-22 in its source and in no run", output)
        self.assertIn("error: SEM-22: no passed test declared the rule", output)

    def test_leaves_folders_out(self):
        self.write("proptests/memory/b_test.cpp", self.TEST.replace("Run", "Memory"))
        run = ("Run", self.merges("SEM-1", "SEM-22"))
        self.assertEqual(self.judge(run)[0], 1)
        self.assertEqual(self.judge(run, without=["proptests/memory/"])[0], 0)


if __name__ == "__main__":
    unittest.main()
