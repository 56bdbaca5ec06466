#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of the mutants' scripts on a small tree whose program is a script."""

import contextlib
import io
import os
import pathlib
import py_compile
import subprocess
import sys
import tempfile
import unittest

import planted_faults
import run_mutants
import tree

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
SURVIVOR = "    return sum(list(values))"
CRASH = "    os.kill(os.getpid(), signal.SIGSEGV)"


def patch(new, old="    return sum(values)", test="Sum.IsThree", ends="", file=SOURCE):
    return (f"The sum is wrong.\nTest: sum_test {test}\n{ends and f'Ends: {ends}'}\n"
            f"--- a/{file}\n-{old}\n+{new}\n")


# Patches of one fault, the exit status and what the run says.
ENDS = [
    (patch("    return 0"), 0, "wrong_sum  killed by a failure"),
    (patch(SURVIVOR), 1, "wrong_sum  SURVIVED"),
    (patch("    return sum(values"), 1, "wrong_sum  does not compile"),
    (patch("    return 0", old="    return add(values)"), 1, "found 0 times"),
    (patch("    return 0", file="core/src/gone.py"), 1, "there is no file core/src/gone.py"),
    (patch(CRASH), 1, "wrong_sum  ends by a crash"),
    (patch(CRASH, ends="by a crash"), 0, "wrong_sum  killed by a crash"),
    (patch("    os._exit(1)"), 1, "wrong_sum  ends by a crash"),
    (patch("    return 0", ends="by a crash"), 1, "wrong_sum  ends by a failure"),
    (patch("    signal.pause()"), 1, "wrong_sum  ends at its time limit"),
    (patch("    signal.pause()", ends="at its time limit"), 0, "killed at its time limit"),
    (patch("    return 0", test="Sum.IsFour"), 1, "ran [], not Sum.IsFour"),
]


class ScriptBuild(run_mutants.MutantBuild):
    """Compiles and runs a script instead of programs."""

    def configure(self):
        return ""

    def compile(self, *programs):
        try:
            py_compile.compile(str(self.copy / SOURCE), doraise=True)
        except py_compile.PyCompileError as error:
            return str(error)
        for program in map(self.program, programs):
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(f"#!{sys.executable}\n{(self.copy / SOURCE).read_text()}")
            program.chmod(0o755)
        return ""


class SmallTree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write(SOURCE, PROGRAM)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def plant(self, text, name="wrong_sum"):
        self.write(f"{planted_faults.FOLDER}{name}.patch", text)


class RunMutants(SmallTree):
    def ends(self, status, *wanted, names=()):
        files, output = tree.Tree(self.root), io.StringIO()
        build = ScriptBuild(self.root)
        build.test_seconds = 3
        with contextlib.redirect_stdout(output):
            self.assertEqual(run_mutants.run(build, files, names), status, output.getvalue())
        for text in wanted:
            self.assertIn(text, output.getvalue())
        # The tree is untouched, and the copy is restored after each fault.
        self.assertEqual((self.root / SOURCE).read_text(), files.text(SOURCE))
        if build.copy.exists():
            self.assertEqual((build.copy / SOURCE).read_text(), files.text(SOURCE))

    def test_each_end_of_a_test_has_its_word(self):
        for text, status, wanted in ENDS:
            with self.subTest(wanted):
                self.plant(text)
                self.ends(status, wanted)

    def test_without_a_fault_every_test_must_pass(self):
        self.plant(patch("    return 0"))
        self.write(SOURCE, PROGRAM.replace("== 3", "== 4"))
        self.ends(1, "without a fault Sum.IsThree ends by a failure")
        self.write(SOURCE, PROGRAM.replace("== 3", "== = 3"))
        self.ends(1, "without a fault the copy does not build")

    def test_one_mutant_does_not_hide_another(self):
        self.ends(1, "no planted fault to try")
        self.plant(patch("    return 0"), "a_killed")
        self.plant(patch(SURVIVOR), "b_survivor")
        self.plant("no fault at all\n", "c_unreadable")
        self.ends(1, "a_killed    killed", "b_survivor  SURVIVED", "c_unreadable: no line",
                  "2 planted faults, 1 killed, 1 not, 1 patches that cannot be read")
        self.ends(0, names=["a_killed"])
        self.ends(1, names=["b_survivor"])
        self.ends(1, "d_missing: there is no such patch", names=["a_killed", "d_missing"])

    def test_the_copy_follows_the_tree(self):
        self.plant(patch("    return 0"))
        self.write("core/src/gone.cpp", "")
        self.write("core/src/kept.cpp", "")
        self.ends(0)
        copy = self.root / "build/mutants/source"
        # An interrupted run leaves a fault behind.
        (copy / SOURCE).write_text(PROGRAM.replace("sum(values)", "0"))
        kept = (copy / "core/src/kept.cpp").stat().st_mtime_ns
        (self.root / "core/src/gone.cpp").unlink()
        self.ends(0)
        self.assertFalse((copy / "core/src/gone.cpp").exists())
        self.assertEqual((copy / "core/src/kept.cpp").stat().st_mtime_ns, kept)


class GuardedCopy(unittest.TestCase):
    """One copy of a file has all of its faults."""

    FILE = "core/src/sum.cpp"
    TEXT = "int sum(int a, int b) {\n  a += b;\n  return a;\n}\n"

    def plant(self, hunk, file=FILE, text=TEXT):
        fault = f"Wrong.\n--- a/{file}\n{hunk}"
        return planted_faults.guarded_copy.plant("wrong", fault, self.FILE, text)

    def test_has_the_old_and_the_new_statements(self):
        old, new = "-  a += b;\n", "+  a -= b;\n+  b = 0;\n"
        # Lines that both sides have stay outside the guard.
        for hunk in (old + new, f" int sum(int a, int b) {{\n{old}{new}   return a;\n", old):
            added = "  a -= b;\n  b = 0;\n" if new in hunk else ""
            wanted = (f'if (::belfry::testing::planted("wrong")) {{\n{added}}} else {{\n  a += b;\n'
                      "}\n")
            self.assertEqual(self.plant(hunk), self.TEXT.replace("  a += b;\n", wanted))

    def test_takes_no_patch_that_does_not_fit(self):
        for problem, given in (("found 0 times", {"hunk": "-  a *= b;\n"}),
                               ("found 2 times", {"hunk": "-  a += b;\n", "text": 2 * self.TEXT}),
                               ("no patch of core/src/sum.cpp alone",
                                {"hunk": "-  a += b;\n", "file": "core/src/mean.cpp"})):
            with self.assertRaises(SystemExit) as ended:
                self.plant(**given)
            self.assertIn(problem, str(ended.exception))


class ExpectKilled(SmallTree):
    """The program is a script with a fault `zero`, which makes the sum 0, and a fault `crash`."""

    FAULT = "os.environ.get('BELFRY_TESTING_FAULT')"
    FAULTY = PROGRAM.replace("    return sum(values)", f"    if {FAULT} == 'crash': os.abort()\n"
                             f"    return 0 if {FAULT} == 'zero' else sum(values)")

    def ends(self, status, says, *options, program=FAULTY, **environment):
        self.write("program", f"#!{sys.executable}\n{program}")
        (self.root / "program").chmod(0o755)
        script = pathlib.Path(planted_faults.guarded_copy.__file__).parent / "expect_killed.py"
        run = subprocess.run([sys.executable, script, self.root / "program", *options], text=True,
                             capture_output=True, env=os.environ | environment)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        self.assertIn(says, run.stdout + run.stderr)

    def test_passes_only_if_the_test_fails_with_the_fault(self):
        self.ends(0, "Sum.IsThree noticed the fault", "Sum.IsThree", "--fault", "zero")
        self.ends(1, "passes although", "Sum.IsThree")
        self.ends(1, "passes although", "Sum.IsThree", BELFRY_TESTING_FAULT="zero")
        self.ends(1, "did not finish", "Sum.IsThree", "--fault", "crash")
        self.ends(1, "ran [], not ['Sum.IsFour']", "Sum.IsFour", "--fault", "zero")

    def test_wants_every_test_to_pass_without_a_fault(self):
        self.ends(0, "pass without a fault", "Sum.IsThree", "--control")
        self.ends(1, "ran [], not", "Sum.IsFour", "--control")
        self.ends(1, "fail without a fault", "Sum.IsThree", "--control",
                  program=self.FAULTY.replace("== 3", "== 4"))


if __name__ == "__main__":
    unittest.main()
