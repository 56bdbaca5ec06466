#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the budgets of files, functions and interfaces."""

import pathlib
import re

import cpp_scan
import tree

# (warn above, fail above), in lines.
FILE = (300, 400)
TEST_FILE = (400, 600)
PUBLIC_HEADER = (200, 250)
FUNCTION = (40, 60)
PURE_VIRTUALS = (8, 8)
PARAMETERS = (6, 6)
VENDORS_FUNCTION = re.compile(r"(cuda|nccl)[A-Z]")  # The vendor chooses the parameters.
OTHER_SUFFIXES = {".py", ".sh", ".cmake"}


def judge(report, where, what, size, budget):
    if size > budget[1]:
        report.error(where, f"{what} has {size}; at most {budget[1]}")
    elif size > budget[0]:
        report.warn(where, f"{what} has {size}; better at most {budget[0]}")


def file_budget(name):
    if "/include/belfry/" in name and not name.startswith("proptests/"):
        return PUBLIC_HEADER
    return TEST_FILE if tree.is_test(name) else FILE


def check(files, report):
    code = set(files.code())
    for name in files.files:
        scripts = pathlib.PurePath(name).suffix in OTHER_SUFFIXES or name.endswith("CMakeLists.txt")
        if name not in code and not scripts:
            continue
        text = files.text(name)
        judge(report, name, "the file (lines)", text.count("\n"), file_budget(name))
        if name not in code:
            continue
        for function, line, lines, parameters in cpp_scan.functions(text):
            judge(report, f"{name}:{line}", f"{function} (lines)", lines, FUNCTION)
            if not VENDORS_FUNCTION.match(function):
                judge(report, f"{name}:{line}", f"{function} (parameters)", parameters, PARAMETERS)
        for interface, line, pure in cpp_scan.interfaces(text):
            judge(report, f"{name}:{line}", f"{interface} (pure virtuals)", pure, PURE_VIRTUALS)


if __name__ == "__main__":
    tree.main(check, "sizes")
