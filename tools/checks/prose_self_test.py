#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Sees check_prose.py count known sentences, and refuse a folder that became vaguer."""

import pathlib
import tempfile
import unittest

import check_prose
import tree


class Counts(unittest.TestCase):
    def test_comment(self):
        text = ("// What it holds belongs to the caller.\nint a;\n"
                "// The buffer belongs to the caller.\n")
        count = check_prose.count_of("a.h", text)
        self.assertEqual((count.words, count.pronouns), (13, 2))  # What, it
        self.assertEqual((count.sentences, count.headless), (2, 1))

    def test_page_without_lists_tables_and_code(self):
        text = ("# What this is about and for whom\n\n```\nWhat a line of code it is\n```\n\n"
                "- What an item of a list it is.\n\n| What | a row of a table it is |\n\n"
                "A page has one sentence of prose.\n")
        count = check_prose.count_of("a.md", text)
        self.assertEqual((count.words, count.pronouns, count.headless), (7, 1, 0))  # one

    def test_short_sentences_and_licences(self):
        text = "// So it is.\n\nint a;\n// SPDX-License-Identifier: what it is called by those\n"
        self.assertEqual(check_prose.count_of("a.h", text).sentences, 0)


class Limits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("docs/a.md", "The page names the owner of each buffer.\n")
        self.write(check_prose.LIMITS, "docs 0.0 0.0\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def check(self):
        report = tree.Report()
        check_prose.check(tree.Tree(self.root), report)
        return report

    def test_equal_prose(self):
        self.assertEqual(self.check().errors, [])

    def test_vaguer_prose_names_the_file(self):
        self.write("docs/b.md", "What it does is what they do with it.\n")
        errors = self.check().errors
        self.assertEqual(len(errors), 2)
        self.assertIn("docs/b.md", errors[0])

    def test_limit_that_is_too_high(self):
        self.write(check_prose.LIMITS, "docs 9.0 0.0\n")
        report = self.check()
        self.assertEqual(report.errors, [])
        self.assertEqual(len(report.warnings), 1)

    def test_folder_without_limit(self):
        self.write("proptests/a.h", "// A sentence of the proper length.\n")
        self.assertEqual(len(self.check().errors), 1)


if __name__ == "__main__":
    unittest.main()
