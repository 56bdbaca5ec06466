#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of the count of executed tests, on build trees whose programs are scripts."""

import contextlib
import io
import pathlib
import re
import sys
import tempfile
import unittest

import executed_tests
import test_count

# A program of GoogleTest: its tests, with results, are beside it in a file. It notes its runs.
PROGRAM = """\
#!{python}
import json, os, pathlib, sys
here = pathlib.Path(sys.argv[0])
with open(str(here) + ".runs", "a") as runs:
    print(os.environ.get("BELFRY_TESTING_CARRIER"), os.environ["RC_PARAMS"], file=runs)
given = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
chosen = given.get("--gtest_filter", "*").split(":")
tests = dict(line.split() for line in here.with_suffix(".tests").read_text().splitlines())
ran = {{name: how for name, how in tests.items() if name in chosen or chosen == ["*"]}}
if "crashes" in ran.values():
    os.abort()
listed = [{{"name": name.split(".")[1], "status": "RUN",
           "result": "SKIPPED" if how == "skips" else "COMPLETED",
           "failures": [{{}}] if how == "fails" else []}} for name, how in ran.items()]
suites = [{{"name": "Sum", "testsuite": listed}}]
pathlib.Path(given["--gtest_output"][5:]).write_text(json.dumps({{"testsuites": suites}}))
print("seed=1\\n" + "..x.\\n" * list(ran.values()).count("holds") + "a. b\\n", file=sys.stderr)
sys.exit("fails" in ran.values())
"""


class CountTest(unittest.TestCase):
    """A build tree in a temporary folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name) / "build"
        self.tree.mkdir()
        self.lines = []

    def program(self, name, **tests):
        """Makes a program with tests of the suite Sum, which pass, hold, skip, fail or crash."""
        program = self.tree / name
        program.write_text(PROGRAM.format(python=sys.executable))
        program.chmod(0o755)
        text = "".join(f"Sum.{test} {how}\n" for test, how in tests.items())
        program.with_suffix(".tests").write_text(text)
        return program

    def runs_of(self, program):
        return pathlib.Path(f"{program}.runs").read_text().splitlines()

    def add(self, name, *command, part="", **properties):
        """Adds a test to the tree, in the folder of a part."""
        properties.setdefault("WORKING_DIRECTORY", self.tree / part)
        (self.tree / part).mkdir(exist_ok=True)
        words = " ".join(f'"{word}"' for word in command)
        values = " ".join(f'{key} "{value}"' for key, value in properties.items())
        self.lines.append(f"add_test([=[{name}]=] {words})\n"
                          f"set_tests_properties([=[{name}]=] PROPERTIES {values})\n")

    def add_all(self, program, *names, **properties):
        for name in names:
            self.add(f"Sum.{name}", program, f"--gtest_filter=Sum.{name}", **properties)

    def count(self, *arguments, environment="", list_only=False):
        (self.tree / "CTestTestfile.cmake").write_text("".join(self.lines))
        count = test_count.Count()
        given = executed_tests.Pass.parse(f"{environment} {self.tree} {' '.join(arguments)}")
        with contextlib.redirect_stderr(io.StringIO()):
            executed_tests.count_pass(given, list_only, count)
        return count


class Counts(CountTest):
    def test_runs_a_program_once_for_each_environment(self):
        program = self.program("proptests_sim", A="passes", B="passes", C="passes")
        self.add_all(program, "A", "B", part="proptests")
        self.add("props.on_baton", program, "--gtest_brief=1", part="proptests",
                 ENVIRONMENT="BELFRY_TESTING_CARRIER=baton;RC_PARAMS=max_success=30")
        count = self.count(environment="RC_PARAMS=max_success=7")
        self.assertEqual(sorted(self.runs_of(program)),
                         ["None max_success=7 verbose_progress=1",
                          "baton max_success=30 verbose_progress=1"])
        self.assertEqual(count.tests, {"sim": {"Sum.A": 2, "Sum.B": 2, "Sum.C": 1}})
        self.assertEqual({way: len(names) for way, names in count.passes.items()},
                         {"sim, mirrored": 2, "sim, mirrored BELFRY_TESTING_CARRIER=baton": 3})
        self.assertEqual((count.is_sound(), count.sanitized), (True, {}))

    def test_tells_backends_and_strategies_apart(self):
        for name, part in (("core_test", "core"), ("doc_property", "docs"),
                           ("proptests_local_sgd_sim", "docs"),
                           ("proptests_folding_cuda", "proptests")):
            self.add(name, self.program(name, A="passes"), "--gtest_brief=1", part=part)
        self.add("folding", self.program("suites", A="passes"), "--strategy=folding",
                 "--backend=sim", "--gtest_brief=1", part="proptests")
        self.assertEqual(set(self.count().passes), {
            "host/core, other tests", "tools and docs, other tests", "sim, local_sgd",
            "cuda host half, folding", "sim, folding"})

    def test_counts_property_cases_and_skipped_tests(self):
        program = self.program("core_test", A="holds", B="holds", C="skips", D="passes")
        self.add_all(program, "A", "B", "C", "D", part="core")
        self.add("Sum.DISABLED_E", program, "--gtest_filter=Sum.E", DISABLED="TRUE")
        count = self.count()
        self.assertEqual(count.cases, {"host/core": {"property cases": 6}})
        self.assertEqual(sorted(count.skipped), ["Sum.C", "Sum.DISABLED_E (disabled)"])
        self.assertEqual(set(count.tests["host/core"]), {"Sum.A", "Sum.B", "Sum.D"})

    def test_knows_sanitized_trees_and_patches(self):
        patches = self.tree / "house/proptests/mutants/planted"
        patches.mkdir(parents=True)
        (patches / "wrong_sum.patch").write_text("The sum is wrong.\n")
        (self.tree / "CMakeCache.txt").write_text(
            f"BELFRY_SANITIZE:STRING=address\nCMAKE_HOME_DIRECTORY:INTERNAL={self.tree}/house\n")
        self.add_all(self.program("core_test", A="passes"), "A", part="core")
        count = self.count()
        self.assertEqual(count.sanitized, {"host/core, address": {"Sum.A": 1}})
        self.assertEqual(count.commands, {"planted faults": {"planted.wrong_sum": 1}})

    def test_runs_other_commands_by_ctest(self):
        noted = self.tree / "noted"
        self.add("mutants.a", "/bin/sh", "-c", f"echo >>{noted}")
        self.add("docs.first", "/bin/sh", "-c", "exit 3", SKIP_RETURN_CODE="3")
        self.add("mutants.control", "/bin/true")
        self.add("compile_fail_x.SECTION", "/bin/false", WILL_FAIL="TRUE")
        self.add("compile_fail_x.compile", "/bin/true")
        self.add("lint.a", "/bin/false", LABELS="lint")
        count = self.count("-LE", "lint")
        self.assertEqual(count.commands, {"planted faults": {"mutants.a": 1},
                                          "compile-fail sections": {"compile_fail_x.SECTION": 1},
                                          "other commands": {"compile_fail_x.compile": 1,
                                                             "mutants.control": 1}})
        self.assertEqual((noted.read_text(), count.skipped, count.failing),
                         ("\n", ["docs.first"], []))
        self.assertEqual(self.count().failing, ["lint.a (fail)"])

    def test_only_counts_other_commands_if_asked(self):
        noted = self.tree / "noted"
        self.add("mutants.a", "/bin/sh", "-c", f"echo >>{noted}")
        self.assertEqual(self.count(list_only=True).commands, {"planted faults": {"mutants.a": 1}})
        self.assertFalse(noted.exists())


class Problems(CountTest):
    def has_problem(self, pattern, *arguments):
        count = self.count(*arguments)
        self.assertFalse(count.is_sound())
        self.assertRegex("\n".join(count.problems + count.failing), pattern)

    def test_reports_a_program_that_runs_no_test(self):
        self.add("core_test", self.program("core_test"), "--gtest_brief=1")
        self.has_problem(r"core_test: 0 tests ran")

    def test_reports_names_that_do_not_run(self):
        self.add_all(self.program("core_test", A="passes"), "A", "Gone")
        self.has_problem(r"tests that ctest names did not run")

    def test_reports_a_pass_without_tests(self):
        self.has_problem(r"ctest lists no tests")
        self.add_all(self.program("core_test", A="passes"), "A", LABELS="unit")
        self.has_problem(r"ctest lists no tests", "-L", "prop")

    def test_reports_programs_that_are_not_built(self):
        self.add("core_test", self.tree / "core_test", "--gtest_brief=1")
        self.add("sim_test_NOT_BUILT", "/bin/false")
        self.has_problem(r"core_test: .* not built\nsim_test_NOT_BUILT: .* not built")

    def test_reports_failures_and_crashes(self):
        self.add_all(self.program("core_test", A="passes", B="fails"), "A", "B")
        self.add("crash", self.program("crash_test", C="crashes"), "--gtest_brief=1")
        self.has_problem(r"crash_test: no report.*\nSum\.B")


class Compares(CountTest):
    def made(self, *names, cases=1, commands=("mutants.a",)):
        count = test_count.Count()
        count.tests["sim"].update(names)
        count.passes["sim, mirrored"].update(names)
        count.cases["sim"]["property cases"] = cases
        count.commands["planted faults"].update(commands)
        return count

    def compare(self, first, second, *moved):
        """Returns the exit status and the text of a comparison of saved counts."""
        counts = []
        for count in (first, second):
            count.save(self.tree / "count.json")
            counts.append(test_count.Count.read(self.tree / "count.json"))
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            status = test_count.compare(*counts, moved)
        return status, text.getvalue()

    def test_accepts_more_tests_and_prints_sums(self):
        status, text = self.compare(self.made("Sum.A", cases=100), self.made("Sum.A", "Sum.B"))
        self.assertEqual(status, 0, text)
        self.assertIn("only in the second: Sum.B", text)
        self.assertTrue(re.search(r"tests: sim +1 -> +2, in all +1 -> +2\n", text), text)
        self.assertTrue(re.search(r"cases: sim .* in all +100 -> +1\n", text), text)

    def test_reports_tests_that_are_lost_and_those_that_moved(self):
        first, second = self.made("Sum.A", "Sum.B"), self.made("Sum.A")
        status, text = self.compare(first, second)
        self.assertEqual((status, text.count("only in the first: Sum.B")), (1, 2), text)
        status, text = self.compare(first, second, "Sum.[BC]")
        self.assertEqual((status, text.count("moved: Sum.B")), (0, 2), text)

    def test_reports_kinds_that_are_lost(self):
        first = self.made("Sum.A")
        self.assertEqual(self.compare(first, self.made("Sum.A", cases=0))[0], 1)
        self.assertEqual(self.compare(first, self.made("Sum.A", commands=()))[0], 1)
        other = self.made("Sum.A")
        other.passes["sim, folding"].update(["Sum.A"])
        self.assertEqual(self.compare(other, first)[0], 1)
        self.assertEqual(self.compare(first, other)[0], 0)

    def test_accepts_no_count_with_problems(self):
        bad = self.made("Sum.A")
        bad.problems.append("core_test: 0 tests ran")
        for pair in ((bad, self.made("Sum.A")), (self.made("Sum.A"), bad)):
            status, text = self.compare(*pair)
            self.assertEqual((status, "0 tests ran" in text), (1, True), text)


if __name__ == "__main__":
    unittest.main()
