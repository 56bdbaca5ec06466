#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Tests the conversions of pages and headers, and the groups of the reference."""

import pathlib
import unittest

import build_site
import headers
import pages

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEMANTICS = "# Semantics\n\n## Runs\n\n### SEM-7 Cancellation after a failure\n"
ERRORS = "# Errors\n\n## Merges\n\n### BF-012 kMergeKinds\n"
CITED = {"SEM-7": "semantics-sem-7-cancellation-after-a-failure",
         "BF-012": "errors-bf-012-kmergekinds", "kMergeKinds": "errors-bf-012-kmergekinds"}


def page(text):
    """Returns the conversion of docs/a.md with this text, beside three other pages."""
    texts = {"docs/a.md": text, "README.md": "# belfry\n", "docs/semantics.md": SEMANTICS,
             "docs/errors.md": ERRORS}
    return pages.convert("docs/a.md", texts, pages.citations_of(texts))


def header(text, name="belfry/a.h", group="things"):
    return headers.Header(name, text, group, CITED).converted()


class PagesTest(unittest.TestCase):
    def test_headings_get_labels_and_equal_headings_get_numbers(self):
        self.assertEqual(page("# A page\n\n## The `fn`, again\n## The fn again\n"),
                         "# A page {#a}\n\n## The fn, again {#a-the-fn-again}\n"
                         "## The fn again {#a-the-fn-again-1}\n")

    def test_links_between_pages_lead_to_labels(self):
        self.assertEqual(page("[x](errors.md#bf-012-kmergekinds), [y](../README.md), [z](#end)\n"),
                         "[x](@ref errors-bf-012-kmergekinds), [y](@ref index), [z](@ref a-end)\n")
        self.assertEqual(page("[x](https://cmake.org), [y](../LICENSE)\n"),
                         "[x](https://cmake.org), [y](LICENSE)\n")
        with self.assertRaises(SystemExit):
            page("[x](examples/first.cpp)\n")

    def test_a_link_of_two_lines_keeps_the_number_of_lines(self):
        self.assertEqual(page("see [the\nerrors](errors.md) here\n"),
                         "see [the errors](@ref errors)\n here\n")

    def test_rules_and_codes_become_links_outside_of_code(self):
        self.assertEqual(page("SEM-7, `SEM-7`, BF-012, SEM-8\n```text\nBF-012\n```\n"),
                         f"[SEM-7](@ref {CITED['SEM-7']}), `SEM-7`, "
                         f"[BF-012](@ref {CITED['BF-012']}), SEM-8\n```\nBF-012\n```\n")

    def test_comments_go_and_bold_code_stays_bold(self):
        self.assertEqual(page("<!-- snippet: a [b] -->\n**`a.h`** `it's`\n"),
                         "\n<b>`a.h`</b> ``it's``\n")

    def test_a_page_with_many_headings_begins_with_its_contents(self):
        few, many = ("# A\n\n" + "".join(f"## {i}\n" for i in range(n)) for n in (2, 6))
        self.assertNotIn("[TOC]", page(few))
        self.assertTrue(page(many).startswith("# A {#a}\n[TOC]\n## 0 {#a-0}\n"))

    def test_the_menu_has_the_listed_pages(self):
        texts = {"docs/README.md": "# Pages\n| [one](b.md) | x |\n"
                                   "| figures [from a](c.md), [from b](d.md) | y |\n",
                 "docs/b.md": "# Bells\n", "docs/c.md": "# C\n", "docs/d.md": "# D\n"}
        self.assertEqual(pages.listed_pages(texts),
                         [("docs/README.md", "Pages"), ("docs/b.md", "Bells"), ("docs/c.md", "C"),
                          ("docs/d.md", "D")])
        self.assertEqual(pages.label_of("docs/README.md"), "pages")

    def test_the_readme_is_the_main_page(self):
        texts = {"README.md": "# belfry\n\n[x](docs/a.md#b)\n", "docs/a.md": "# A\n## B\n"}
        self.assertEqual(pages.convert("README.md", texts, {}),
                         "# belfry {#mainpage}\n\n[x](@ref a-b)\n")


class HeadersTest(unittest.TestCase):
    def test_names_join_the_group_and_lines_keep_their_numbers(self):
        text = ("// SPDX-1\n// SPDX-2\n#pragma once\n\nnamespace belfry {\nint a;\n"
                "}  // namespace belfry\n")
        self.assertEqual(header(text).split("\n"),
                         ["/// @file belfry/a.h", "/// Part of the group @ref group_things.",
                          "#pragma once", "",
                          "namespace belfry { /** @addtogroup group_things */ /** @{ */", "int a;",
                          "/** @} */ }", ""])

    def test_the_comment_above_the_namespace_describes_the_file(self):
        text = "// 1\n// 2\n\n/// Things.\nnamespace belfry::a {\n"
        self.assertEqual(header(text).split("\n")[2:4],
                         ["/// @file belfry/a.h", "/// Things."])

    def test_detail_is_left_out(self):
        text = "//\n//\nnamespace detail {\nint a;\n}  // namespace detail\nint b;\n"
        self.assertEqual(header(text).split("\n")[2:], ["", "", "", "int b;", ""])
        self.assertFalse(build_site.cpp.is_shown("belfry/detail/verb.h"))
        self.assertTrue(build_site.cpp.is_shown("belfry/detail/tensor/math.h"))

    def test_rules_codes_and_paragraphs(self):
        text = ("//\n//\n/// A run (SEM-7). Order: blocks. Throws:\n"
                "/// a<b> (kMergeKinds) `x<y>`.\n")
        self.assertEqual(
            header(text).split("\n")[2:4],
            [f"/// A run ([SEM-7](@ref {CITED['SEM-7']})). @paragraph{{Order}} blocks. "
             "@paragraph{Throws} ",
             f"/// a&lt;b> ([kMergeKinds](@ref {CITED['kMergeKinds']})) `x<y>`."])

    def test_code_that_goes_on_in_the_next_line_stays_code(self):
        self.assertEqual(header("//\n//\n/// `a<b>,\n/// c<d>` e<f>\n").split("\n")[2:4],
                         ["/// `a<b>,", "/// c<d>` e&lt;f>"])

    def test_verbs_overloads_wrappers_and_defaults(self):
        text = ("//\n//\nclass A {\n public:\n  A(const A&) = delete;\n  /// Runs.\n"
                "  Verb<detail::calls::Run> run{*this};\n  template <class F>\n"
                "  void run_at(CallSite site, F f) {\n    run(f);\n  }\n  /// Reads.\n"
                "  int read(int a);\n  int read(double a);\n  int size() const;\n"
                "  bool operator==(const A&) const = default;\n")
        self.assertEqual(header(text).split("\n")[4:16], [
            "", "  /// Runs.", "  template <class... Args> auto run(const Args&... args);",
            "  /** As run, with the call site of a wrapper. */ template <class F>",
            "  void run_at(CallSite site, F f) {", "    run(f);", "  }", "  /// Reads.",
            "  int read(int a);",
            "  /** As the declaration of this name above. */ int read(double a);",
            "  int size() const;",
            "  /** Whether all members are equal. */ bool operator==(const A&) const = default;"])

    def test_a_comment_above_names_of_a_base_is_that_of_the_next_function(self):
        text = "//\n//\nclass A {\n  /// Adds.\n  using B<A>::add;\n  int add(int a);\n"
        self.assertEqual(header(text).split("\n")[3:6], ["  /// Adds.", "", "  int add(int a);"])


class GroupsTest(unittest.TestCase):
    def test_every_public_header_belongs_to_one_group(self):
        files = build_site.tree.Tree(ROOT)
        groups = headers.read_groups(files.text("docs/data/reference_groups.txt"))
        self.assertEqual(build_site.group_faults(build_site.public_headers(files), groups), [])

    def test_a_header_without_a_group_and_one_with_two_are_faults(self):
        groups = headers.read_groups("[a] A\n: About a.\nbelfry/a*.h\n[b] B\nbelfry/ab.h\n")
        self.assertEqual(groups[0], ("a", "A", "About a.", ["belfry/a*.h"]))
        faults = build_site.group_faults(["belfry/a.h", "belfry/ab.h", "belfry/c.h"], groups)
        self.assertEqual([fault.split(": ")[1] for fault in faults],
                         ["belfry/ab.h belongs to a and b", "belfry/c.h belongs to no group"])


if __name__ == "__main__":
    unittest.main()
