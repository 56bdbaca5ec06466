#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Sees compile_fail.py judge sections that fail for their reasons, and sections that do not."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKS = pathlib.Path(__file__).resolve().parent


class CompileFail(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        # Neither the name of the library nor a blank in the place of the files makes a difference.
        self.root = pathlib.Path(folder.name) / "belfry" / "x y"

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    GOOD = "#ifdef A\n// EXPECT: no_such_name\nint a = no_such_name;\n#endif\n"

    OTHER = GOOD.replace("ifdef A", "ifdef B").replace("int a", "int b")
    # An error in a header, which names the origin; used twice with a type it is reported once.
    HEADER = ("template <class T>\n"
              "auto check(T t) { static_assert(sizeof(T) > 64, \"small\"); return t; }\n")
    CALL = "#ifdef {0}\n// EXPECT: small\nauto {0}_ = check({1});\n#endif\n"

    def script(self, *options):
        command = [sys.executable, CHECKS / "compile_fail.py", self.root / "sections.cpp",
                   "--report", self.root / "report.json", *options]
        run = subprocess.run(command, capture_output=True, encoding="utf-8")
        return run.returncode, run.stdout + run.stderr

    def alone(self):
        return self.script("--alone", "--", os.environ.get("CXX", "c++"), "-std=c++20")

    def compile(self, text, *sections):
        self.write("sections.cpp", text)
        status, output = self.script("--sections", *sections or "A", "--",
                                     os.environ.get("CXX", "c++"), "-std=c++20",
                                     f"-I{self.root}/include")
        self.assertEqual(status, 0, output)
        return output

    def judge(self, text, section):
        self.compile(text)
        return self.script(*(["--section", section] if section else ["--control"]))

    def test_accepts_the_expected_failure(self):
        self.assertEqual(self.judge(self.GOOD, "A"), (0, "ok\n"))
        self.assertEqual(self.judge(self.GOOD, None), (0, "ok\n"))

    def test_reports_what_compiles(self):
        status, output = self.judge(self.GOOD.replace("= no_such_name", ""), "A")
        self.assertEqual((status, "A compiles, and must not" in output), (1, True), output)

    def test_reports_another_reason(self):
        status, output = self.judge(self.GOOD.replace("a = no_such_name", "a = other_name"), "A")
        self.assertEqual((status, "for another reason" in output), (1, True), output)

    def test_reports_a_broken_control(self):
        status, output = self.judge(self.GOOD + "int b = no_such_name;\n", None)
        self.assertEqual((status, "the control does not compile" in output), (1, True), output)

    def test_reports_a_section_that_is_not_listed(self):
        status, output = self.judge(self.GOOD + self.OTHER, None)
        self.assertEqual((status, "listed differ: ['B']" in output), (1, True), output)

    def test_judges_a_section_by_its_own_errors(self):
        output = self.compile(self.GOOD + self.OTHER.replace("= no_such_name", ""), "A", "B")
        self.assertEqual(output, "compiled alone: B\n")
        self.assertEqual(self.script("--section", "A"), (0, "ok\n"))
        self.assertEqual(self.script("--section", "B"), (1, "B compiles, and must not\n"))

    def test_finds_the_section_of_an_error_in_a_header(self):
        self.write("header.h", self.HEADER)
        text = ('#include "header.h"\n' + self.CALL.format("A", "1") + self.CALL.format("B", "2L")
                + self.CALL.format("C", "check"))
        self.assertEqual(self.compile(text, "A", "B", "C"), "compiled alone: C\n")
        self.assertEqual(self.script("--section", "A"), (0, "ok\n"))
        self.assertEqual(self.script("--section", "B"), (0, "ok\n"))
        status, output = self.script("--section", "C")
        self.assertEqual((status, "for another reason" in output), (1, True), output)

    def test_compiles_a_section_alone_whose_error_is_reported_for_another_one(self):
        self.write("header.h", self.HEADER)
        text = '#include "header.h"\n' + self.CALL.format("A", "1") + self.CALL.format("B", "2")
        self.assertEqual(self.compile(text, "A", "B"), "compiled alone: B\n")
        self.assertEqual(self.script("--section", "B"), (0, "ok\n"))

    # An error in a header of belfry, and more errors behind it.
    WALL = ('#include "belfry/header.h"\n#ifdef A\n// {0}: small\n'
            "auto a = check(1){1};\n#endif\n")

    def first(self, kind, more=""):
        self.write("include/belfry/header.h", self.HEADER)
        return self.judge(self.WALL.format(kind, more), "A")

    def test_finds_the_first_error(self):
        self.assertEqual(self.first("FIRST"), (0, "ok\n"))
        status, output = self.judge(self.GOOD.replace("EXPECT", "FIRST")
                                    .replace("int a", "int b = other;\nint a"), "A")
        self.assertEqual((status, "for another reason" in output), (1, True), output)

    def test_reports_a_wall_behind_the_first_error(self):
        more = "".join(f";\nint a{i} = no_such_name" for i in range(5))
        status, output = self.first("FIRST", more)
        self.assertEqual((status, "with too many lines" in output), (1, True), output)
        self.assertEqual(self.first("EXPECT", more), (0, "ok\n"))

    def test_reports_a_line_of_belfry_before_a_typo(self):
        self.assertEqual(self.judge(self.GOOD.replace("EXPECT", "TYPO"), "A"), (0, "ok\n"))
        status, output = self.first("TYPO")
        self.assertEqual((status, "for another reason" in output), (1, True), output)

    def test_reports_each_error_behind_a_typo(self):
        more = self.GOOD.replace("int a", "int b = {0};\nint a")
        for kind in "ALL", "TYPO":
            text = more.replace("EXPECT", kind)
            self.assertEqual(self.judge(text.format("no_such_name2"), "A"), (0, "ok\n"))
            status, output = self.judge(text.format("1;\nint c = other"), "A")
            self.assertEqual((status, "for another reason" in output), (1, True), output)
        self.assertEqual(self.first("ALL"), (0, "ok\n"))
        status, output = self.first("ALL", ";\nint b = no_such_name")
        self.assertEqual((status, "for another reason" in output), (1, True), output)

    def test_compiles_alone_what_may_have_an_error_of_unknown_origin(self):
        self.write("header.h", "#if defined A && defined B\n#error of both\n#endif\n")
        text = '#include "header.h"\n' + self.GOOD + self.OTHER.replace("EXPECT", "ALL")
        self.assertEqual(self.compile(text, "A", "B"), "compiled alone: B\n")
        self.assertEqual(self.script("--section", "B"), (0, "ok\n"))

    def test_judges_each_section_alone(self):
        self.write("sections.cpp", self.GOOD + self.OTHER)
        status, output = self.alone()
        self.assertEqual((status, output), (0, "ok\n"))
        self.write("sections.cpp", self.GOOD + self.OTHER.replace("= no_such_name", ""))
        self.assertEqual(self.alone(), (1, "B compiles, and must not\n"))

    def test_has_no_verdict_without_a_report(self):
        self.assertEqual(self.script("--section", "A")[0], 1)


if __name__ == "__main__":
    unittest.main()
