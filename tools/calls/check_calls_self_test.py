#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Tests check_calls.py with a profile and a page written by hand."""

import unittest

import check_calls

ROOT = check_calls.ROOT.as_posix()
# `carry` of a.cpp runs code of b.h inline, and calls `full` of c.cpp. `idle` of d.cpp is a name
# without a record of its own. The last function belongs to the standard library.
PROFILE = f"""\
fl=(1) {ROOT}/core/src/run/a.cpp
fn=(1) carry
10 5
fi=(2) {ROOT}/core/include/belfry/b.h
3 1
fe=(1)
cfi=(3) {ROOT}/core/src/values/c.cpp
cfn=(2) full
calls=1 7
11 20
cfi=(4) {ROOT}/core/src/values/d.cpp
cfn=(3) idle

fl=(3)
fn=(2)
7 20

fl=(5) /usr/include/c++/12/vector
fn=(4) push_back
9 9
"""
PAGE = """\
Before: `core/src/run/other.cpp`.

<!-- files of a call: number -->
| `core/src/run/a.cpp`, `b.h` | text with `code()` and `strategy.run` |
| `core/include/belfry/b.h` | |
<!-- end of files -->

`core/src/run/after.cpp`
"""


class CallsTest(unittest.TestCase):
    def test_files_with_records_ran(self):
        self.assertEqual(check_calls.files_of(PROFILE), {
            "core/src/run/a.cpp", "core/include/belfry/b.h", "core/src/values/c.cpp"})

    def test_a_name_alone_is_a_file_beside_the_latest_path(self):
        self.assertEqual(check_calls.listed_files(PAGE, "number"),
                         ["core/src/run/a.cpp", "core/src/run/b.h", "core/include/belfry/b.h"])
        with self.assertRaises(SystemExit):
            check_calls.listed_files(PAGE, "tensor")

    def test_each_side_may_have_a_file_alone(self):
        self.assertEqual(check_calls.differences(["a.h", "b.h"], {"b.h", "c.h"}),
                         ["c.h runs, and the list omits it", "a.h is listed, and does not run"])


if __name__ == "__main__":
    unittest.main()
