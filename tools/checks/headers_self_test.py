#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Tests the choice of headers to compile, in small repositories with a script as the compiler."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "compile_headers.py"
# Fails for a header that contains the word BROKEN.
COMPILER = """\
import pathlib, sys
header = sys.argv[-1].split("_verify_interface_header_sets/")[1].removesuffix(".cxx")
text = pathlib.Path("core/include", header).read_text()
sys.exit("broken" if "BROKEN" in text or "-fsyntax-only" not in sys.argv else 0)
"""
SUM, MEAN, MAX = "belfry/sum.h", "belfry/mean.h", "belfry/detail/max.h"


class CompileHeaders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name, "source")
        self.build = pathlib.Path(folder.name, "build")
        for header in (SUM, MEAN, MAX):
            self.write(header, "sound\n")
        self.build.mkdir()
        compiler = self.build / "compiler.py"
        compiler.write_text(COMPILER)
        sources = [f"{self.build}/core_verify_interface_header_sets/{header}.cxx"
                   for header in (SUM, MEAN, MAX)]
        entries = [{"directory": str(self.root), "file": source,
                    "command": f"{sys.executable} {compiler} -o a.o -c {source}"}
                   for source in [*sources, f"{self.build}/other.cpp"]]
        (self.build / "compile_commands.json").write_text(json.dumps(entries))

    def write(self, header, text):
        path = self.root / "core/include" / header
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
                       cwd=self.root, check=True, capture_output=True)

    def commit(self):
        if not (self.root / ".git").exists():
            self.git("init", "--initial-branch", "main")
        self.git("add", "--all")
        self.git("commit", "--allow-empty", "-m", "change")

    def compiles(self, wanted, *options, status=0):
        run = subprocess.run([sys.executable, SCRIPT, "--root", self.root, "--build", self.build,
                              *options], capture_output=True, text=True)
        output = run.stdout + run.stderr
        self.assertEqual(run.returncode, status, output)
        self.assertIn(wanted, output)
        return output

    def test_compiles_all_without_a_repository(self):
        self.compiles("3 of 3 headers compiled (all), 0 fail")

    def test_compiles_all_without_a_commit_to_compare_with(self):
        self.commit()
        self.compiles("3 of 3 headers compiled (all), 0 fail")

    def test_compiles_the_headers_of_the_last_commit_and_of_none_yet(self):
        self.commit()
        self.write(SUM, "changed\n")
        self.commit()
        self.compiles("1 of 3 headers compiled (changed), 0 fail")
        self.write(MEAN, "changed, too\n")
        self.compiles("2 of 3 headers compiled (changed), 0 fail")
        self.compiles("3 of 3 headers compiled (all), 0 fail", "--all")

    def test_compiles_a_header_that_git_does_not_know(self):
        (self.root / "core/include" / MAX).unlink()
        self.commit()
        self.commit()
        self.write(MAX, "new\n")
        self.compiles("1 of 3 headers compiled (changed), 0 fail")

    def test_compiles_all_that_a_branch_changed(self):
        self.commit()
        self.commit()
        self.git("checkout", "-b", "topic", "--track", "main")
        self.compiles("0 of 3 headers compiled (changed), 0 fail")
        for header in (SUM, MEAN):
            self.write(header, "changed\n")
            self.commit()
        self.commit()
        self.compiles("2 of 3 headers compiled (changed), 0 fail")

    def test_reports_a_header_that_does_not_compile(self):
        self.commit()
        self.write(SUM, "BROKEN\n")
        self.commit()
        output = self.compiles("1 of 3 headers compiled (changed), 1 fail", status=1)
        self.assertIn(f"{SUM} does not compile alone:\nbroken", output)
        self.commit()
        self.compiles("0 of 3 headers compiled (changed), 0 fail")
        self.compiles("3 of 3 headers compiled (all), 1 fail", "--all", status=1)

    def test_names_a_header_of_no_library(self):
        self.commit()
        self.write("belfry/new.h", "not listed\n")
        self.commit()
        output = self.compiles("0 of 3 headers compiled (changed), 0 fail")
        self.assertIn("belfry/new.h: deleted, or of a library", output)

    def test_wants_sources_for_headers(self):
        (self.build / "compile_commands.json").write_text("[]")
        self.compiles("has no sources for headers", status=1)


if __name__ == "__main__":
    unittest.main()
