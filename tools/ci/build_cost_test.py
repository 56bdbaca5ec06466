#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of the limits for compilations: with numbers, and with compilers that are scripts."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import build_cost
from build_cost import Compilation

# 1.2 GB are 1,171,875 KiB.
SMALL = [Compilation(2.5, 1171875, "a.o"), Compilation(7.0, 300, "b.o"),
         Compilation(0.5, 200, "c.o"), Compilation(1.0, 100, "d.o")]


class Limits(unittest.TestCase):
    def test_are_kept_up_to_the_limit(self):
        text, kept = build_cost.report(SMALL, 11)
        self.assertTrue(kept, text)
        self.assertIn("4 compilations: 11 of 11 CPU-s; at most 1.20 of 1.2 GB\n", text)

    def test_names_the_three_most_expensive(self):
        lines = build_cost.report(SMALL, 11)[0].splitlines()
        self.assertEqual([line.split()[-1] for line in lines[1:]], ["b.o", "a.o", "d.o"])

    def test_of_time_is_exceeded(self):
        text, kept = build_cost.report(SMALL, 10)
        self.assertFalse(kept)
        self.assertIn("11 of 10 CPU-s, TOO MUCH;", text)

    def test_of_memory_is_exceeded(self):
        text, kept = build_cost.report([*SMALL, Compilation(0.1, 1171876, "large.o")], 12)
        self.assertFalse(kept)
        self.assertIn("GB, TOO MUCH", text)
        self.assertEqual(text.split("the largest:\n")[1].splitlines()[0].split()[-1], "large.o")

    def test_of_memory_alone(self):
        text, kept = build_cost.report(SMALL, None)
        self.assertTrue(kept)
        self.assertIn("compilations: 11 CPU-s;", text)


class Builds(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="x y é ")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def launch(self, program):
        log = self.root / "log"
        status = build_cost.main(["--launch", str(log), sys.executable, "-c", program, "-o",
                                  "a b.o"])
        return status, build_cost.read(log)

    def test_log_time_memory_and_status_of_a_compiler(self):
        status, (first,) = self.launch("bytearray(400_000_000); sum(range(10_000_000))")
        self.assertEqual((status, first.output), (0, "a b.o"))
        self.assertGreater(first.kibibytes, 400_000_000 / 1024)
        self.assertGreater(first.seconds, 0.05)
        status, both = self.launch("raise SystemExit(3)")
        self.assertEqual((status, len(both)), (3, 2))

    def run_build(self, source):
        """Builds a project with the source, and returns (status, output)."""
        (self.root / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.24)\nproject(p LANGUAGES CXX)\n"
            "add_library(one a.cpp)\nadd_library(two b.cpp)\n")
        (self.root / "a.cpp").write_text(source)
        (self.root / "b.cpp").write_text("int b;\n")
        text = io.StringIO()
        with contextlib.redirect_stdout(text), mock.patch.object(sys, "stderr", text):
            try:
                status = build_cost.main([str(self.root / "build"), "--target", "one",
                                          "--cpu-seconds", "100", "--", "-S", str(self.root)])
            except SystemExit as end:
                status = end.code
        return status, text.getvalue()

    def test_count_the_compilations_of_the_target(self):
        status, text = self.run_build("int a;\n")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"^1 compilations: 0 of 100 CPU-s; at most 0[.]\d\d of 1[.]2 GB\n"
                               r" .* CMakeFiles/one[.]dir/a[.]cpp[.]o\n$")

    def test_that_fail_are_told(self):
        status, _ = self.run_build("int a\n")
        self.assertIn("the build fails", status)


if __name__ == "__main__":
    unittest.main()
