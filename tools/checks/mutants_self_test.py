#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of the mutants' scripts on a small tree whose program is a script."""

import contextlib
import io
import os
import py_compile
import subprocess
import sys
import unittest

import planted_faults
import run_mutants
import tree
from self_test import CHECKS, CheckTest

# Its one test is about `total`; it reports as GoogleTest does.
PROGRAM = """\
import json
import os
import signal
import sys

def total(values):
    return sum(values)

chosen, output = (argument.split("=", 1)[1] for argument in sys.argv[1:])
tests = []
if chosen == "Sum.IsThree":
    failures = [] if total([1, 2]) == 3 else [{"failure": "not three"}]
    tests = [{"name": "IsThree", "status": "RUN", "failures": failures}]
report = {"testsuites": [{"name": "Sum", "testsuite": tests}]}
with open(output.removeprefix("json:"), "w") as file:
    json.dump(report, file)
"""
SOURCE = "core/src/sum.py"
TEST = "core/src/sum_test.cpp"


def patch(new, old="    return sum(values)", test="Sum.IsThree", ends="", file=SOURCE):
    return (f"The sum is wrong.\nProgram: sum_test\nTest: {test}\n{ends}"
            f"--- a/{file}\n+++ b/{file}\n@@ -7 +7 @@\n-{old}\n+{new}\n")


class ScriptBuild(run_mutants.MutantBuild):
    """Compiles and runs a script instead of programs."""

    def configure(self):
        return ""

    def compile(self, *programs):
        try:
            py_compile.compile(str(self.copy / SOURCE), doraise=True)
        except py_compile.PyCompileError as error:
            return str(error)
        for program in programs:
            built = self.program(program)
            built.parent.mkdir(parents=True, exist_ok=True)
            text = (self.copy / SOURCE).read_text()
            built.write_text(f"#!{sys.executable}\n{text}")
            built.chmod(0o755)
        return ""


class MutantsTest(CheckTest):
    def setUp(self):
        super().setUp()
        self.write(SOURCE, PROGRAM)
        self.write(TEST, "TEST(Sum, IsThree) {}\n")
        self.write("core/src/CMakeLists.txt", "belfry_test(sum_test SOURCES sum_test.cpp)\n")

    def plant(self, text, name="wrong_sum"):
        self.write(f"{planted_faults.FOLDER}{name}.patch", text)


class CheckMutants(MutantsTest):
    def test_accepts_a_tree_without_faults_and_a_fault_that_fits(self):
        self.accepts("mutants")
        self.plant(patch("    return 0"))
        self.accepts("mutants")

    def test_accepts_a_test_with_parameters(self):
        self.write(TEST, "TEST_P(Sum, IsThree) {}\n")
        self.plant(patch("    return 0", test="Kinds/Sum.IsThree/whole"))
        self.accepts("mutants")

    def test_reports_a_patch_that_no_longer_fits(self):
        self.plant(patch("    return 0", old="    return add(values)"))
        self.reports("mutants", "planted/wrong_sum.patch: found 0 times in core/src/sum.py")
        self.write(SOURCE, PROGRAM + PROGRAM)
        self.plant(patch("    return 0"))
        self.reports("mutants", "found 2 times")

    def test_reports_a_missing_file_program_or_test(self):
        self.plant(patch("    return 0", test="Sum.IsFour"))
        self.reports("mutants", "there is no test Sum.IsFour")
        self.plant(patch("    return 0", file="core/src/gone.py"))
        self.reports("mutants", "there is no file core/src/gone.py")
        self.plant(patch("    return 0").replace("sum_test", "add_test"))
        self.reports("mutants", "no belfry_test is named add_test")

    def test_reports_an_incomplete_patch(self):
        good = patch("    return 0")
        for bad, problem in (
                (good.replace("The sum is wrong.\n", ""), "no sentence"),
                (good.replace("Program: sum_test\n", ""), "no line `Program: ...`"),
                (good.replace("Test: Sum.IsThree\n", ""), "no line `Test: ...`"),
                (good.replace("Sum.IsThree", "IsThree"), "not the name of a test"),
                (good.replace("+++ b/core", "+++ b/other"), "changes one file"),
                (good + good.split("\n", 3)[3], "changes one file"),
                (patch("    return 0", ends="Ends: in tears\n"), "not in tears"),
                (patch("    return sum(values)"), "a hunk changes nothing"),
                (good.split("@@")[0], "no hunk")):
            self.plant(bad)
            self.reports("mutants", problem)


class RunMutants(MutantsTest):
    seconds = 60

    def run_faults(self, *wanted):
        files = tree.Tree(self.root)
        build = ScriptBuild(self.root, self.root / "build/mutants", self.seconds)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = run_mutants.run(build, files, wanted)
        # The tree is untouched, and the copy is restored after each fault.
        self.assertEqual((self.root / SOURCE).read_text(), files.text(SOURCE))
        if build.copy.exists():
            self.assertEqual((build.copy / SOURCE).read_text(), files.text(SOURCE))
        return status, output.getvalue()

    def ends(self, status, *wanted):
        found, output = self.run_faults()
        self.assertEqual(found, status, output)
        for text in wanted:
            self.assertIn(text, output)

    def test_a_failing_test_kills_the_mutant(self):
        self.plant(patch("    return 0"))
        self.ends(0, "wrong_sum  killed by a failure", "1 planted faults, 1 killed, 0 not")

    def test_a_passing_test_lets_the_mutant_survive(self):
        self.plant(patch("    return sum(list(values))"))
        self.ends(1, "wrong_sum  SURVIVED", "1 planted faults, 0 killed, 1 not")

    def test_a_compile_error_is_no_kill(self):
        self.plant(patch("    return sum(values"))
        self.ends(1, "wrong_sum  does not compile")

    def test_a_patch_that_does_not_fit_is_no_kill(self):
        self.plant(patch("    return 0", old="    return add(values)"))
        self.ends(1, "wrong_sum  does not fit", "found 0 times")
        self.plant(patch("    return 0", file="core/src/gone.py"))
        self.ends(1, "wrong_sum  does not fit", "there is no file core/src/gone.py")

    def test_a_crash_counts_only_if_the_patch_says_so(self):
        crash = "    os.kill(os.getpid(), signal.SIGSEGV)"
        self.plant(patch(crash))
        self.ends(1, "wrong_sum  ends by a crash")
        self.plant(patch(crash, ends="Ends: by a crash\n"))
        self.ends(0, "wrong_sum  killed by a crash")
        self.plant(patch("    os._exit(1)"))
        self.ends(1, "wrong_sum  ends by a crash")
        self.plant(patch("    return 0", ends="Ends: by a crash\n"))
        self.ends(1, "wrong_sum  ends by a failure")

    def test_a_time_limit_counts_only_if_the_patch_says_so(self):
        self.seconds = 3
        self.plant(patch("    while True: pass"))
        self.ends(1, "wrong_sum  ends at its time limit")
        self.plant(patch("    while True: pass", ends="Ends: at its time limit\n"))
        self.ends(0, "wrong_sum  killed at its time limit")

    def test_without_a_fault_every_test_must_be_there_and_pass(self):
        self.plant(patch("    return 0", test="Sum.IsFour"))
        self.ends(1, "without a fault Sum.IsFour ends does not run", "ran [], not Sum.IsFour")
        self.plant(patch("    return 0"))
        self.write(SOURCE, PROGRAM.replace("== 3", "== 4"))
        self.ends(1, "without a fault Sum.IsThree ends by a failure")
        self.write(SOURCE, PROGRAM.replace("== 3", "== = 3"))
        self.ends(1, "without a fault the copy does not build")

    def test_one_mutant_does_not_hide_another(self):
        self.plant(patch("    return 0"), "a_killed")
        self.plant(patch("    return sum(list(values))"), "b_survivor")
        self.plant("no fault at all\n", "c_unreadable")
        self.ends(1, "a_killed    killed", "b_survivor  SURVIVED", "c_unreadable: no line",
                  "2 planted faults, 1 killed, 1 not, 1 patches that cannot be read")

    def test_names_choose_the_faults(self):
        self.plant(patch("    return 0"), "a_killed")
        self.plant(patch("    return sum(list(values))"), "b_survivor")
        self.assertEqual(self.run_faults("a_killed")[0], 0)
        self.assertEqual(self.run_faults("b_survivor")[0], 1)
        status, output = self.run_faults("a_killed", "c_missing")
        self.assertEqual(status, 1)
        self.assertIn("c_missing: there is no such patch", output)

    def test_a_run_without_faults_is_no_success(self):
        self.ends(1, "no planted fault to try")

    def test_the_copy_follows_the_tree(self):
        self.plant(patch("    return 0"))
        self.write("core/src/gone.cpp", "")
        self.ends(0)
        copy = self.root / "build/mutants/source"
        # An interrupted run leaves a fault behind.
        (copy / SOURCE).write_text(PROGRAM.replace("sum(values)", "0"))
        kept = (copy / TEST).stat().st_mtime_ns
        (self.root / "core/src/gone.cpp").unlink()
        self.ends(0)
        self.assertFalse((copy / "core/src/gone.cpp").exists())
        self.assertEqual((copy / TEST).stat().st_mtime_ns, kept)


class GuardedCopy(unittest.TestCase):
    """One copy of a file has all of its faults."""

    FILE = "core/src/sum.cpp"
    TEXT = "int sum(int a, int b) {\n  a += b;\n  return a;\n}\n"

    def plant(self, removed, added, context=("", ""), file=FILE, text=TEXT):
        hunk = "".join((context[0], *(f"-{line}\n" for line in removed),
                        *(f"+{line}\n" for line in added), context[1]))
        patch = f"Wrong.\n--- a/{file}\n+++ b/{file}\n@@ -2 +2 @@\n{hunk}"
        return planted_faults.guarded_copy.plant("wrong", patch, self.FILE, text)

    def guarded(self, added, removed):
        return self.TEXT.replace(removed, 'if (::belfry::testing::planted("wrong")) {\n'
                                          f"{added}}} else {{\n{removed}}}\n")

    def test_has_the_old_and_the_new_statements(self):
        wanted = self.guarded("  a -= b;\n  b = 0;\n", "  a += b;\n")
        self.assertEqual(self.plant(["  a += b;"], ["  a -= b;", "  b = 0;"]), wanted)
        # Lines that both sides have stay outside the guard.
        around = (" int sum(int a, int b) {\n", "   return a;\n")
        self.assertEqual(self.plant(["  a += b;"], ["  a -= b;", "  b = 0;"], around), wanted)

    def test_can_leave_out_a_statement(self):
        self.assertEqual(self.plant(["  a += b;"], []), self.guarded("", "  a += b;\n"))

    def test_takes_no_patch_that_does_not_fit(self):
        for problem, given in (
                ("found 0 times", {"removed": ["  a *= b;"], "added": []}),
                ("found 2 times", {"removed": ["  a += b;"], "added": [], "text": 2 * self.TEXT}),
                ("no patch of core/src/sum.cpp alone",
                 {"removed": ["  a += b;"], "added": [], "file": "core/src/mean.cpp"})):
            with self.assertRaises(SystemExit) as ended:
                self.plant(**given)
            self.assertIn(problem, str(ended.exception))


class ExpectKilled(MutantsTest):
    """The program is a script with a fault `zero`, which makes the sum 0, and a fault `crash`."""

    def setUp(self):
        super().setUp()
        self.program = self.root / "program"
        fault = "os.environ.get('BELFRY_TESTING_FAULT')"
        faulty = (f"    if {fault} == 'crash': os.kill(os.getpid(), signal.SIGSEGV)\n"
                  f"    return 0 if {fault} == 'zero' else sum(values)")
        text = PROGRAM.replace("    return sum(values)", faulty)
        self.program.write_text(f"#!{sys.executable}\n{text}")
        self.program.chmod(0o755)

    def ends(self, status, says, *options, **environment):
        script = CHECKS.parents[1] / "proptests/mutants/expect_killed.py"
        run = subprocess.run([sys.executable, script, self.program, *options], capture_output=True,
                             text=True, env=os.environ | environment)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        self.assertIn(says, run.stdout + run.stderr)

    def test_passes_if_the_test_fails_with_the_fault(self):
        self.ends(0, "Sum.IsThree noticed the fault", "Sum.IsThree", "--fault", "zero")

    def test_fails_if_the_test_passes(self):
        self.ends(1, "passes although", "Sum.IsThree")
        self.ends(1, "passes although", "Sum.IsThree", BELFRY_TESTING_FAULT="zero")

    def test_fails_if_the_test_crashes_or_does_not_run(self):
        self.ends(1, "did not finish", "Sum.IsThree", "--fault", "crash")
        self.ends(1, "ran [], not ['Sum.IsFour']", "Sum.IsFour", "--fault", "zero")

    def test_wants_every_test_to_pass_without_a_fault(self):
        self.ends(0, "pass without a fault", "Sum.IsThree", "--control")
        self.ends(1, "ran [], not", "Sum.IsFour", "--control")
        self.program.write_text(self.program.read_text().replace("== 3", "== 4"))
        self.ends(1, "fail without a fault", "Sum.IsThree", "--control")


if __name__ == "__main__":
    unittest.main()
