#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the top level of the tree, and the licence lines, line lengths and line ends of every text
file."""

import pathlib
import re

import tree

COPYRIGHT = "SPDX-FileCopyrightText: The belfry authors"
LICENCE = "SPDX-License-Identifier: Apache-2.0"
MARKED = {".h", ".hpp", ".cpp", ".cu", ".cuh", ".py", ".sh", ".cmake", ".in"}
MAX_COLUMNS = 100
# Beside files and folders whose names begin with a dot.
TOP_LEVEL = {"CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md", "backends", "core",
             "docs", "proptests", "tools"}


def has_licence(text):
    lines = text.splitlines()
    if lines and lines[0].startswith("#!"):
        lines = lines[1:]
    return len(lines) > 1 and COPYRIGHT in lines[0] and LICENCE in lines[1]


def is_marked(name):
    path = pathlib.PurePath(name)
    return path.suffix in MARKED or path.name in ("CMakeLists.txt", ".clang-format", ".clang-tidy")


def check(files, report):
    for name in files.files:
        top = name.partition("/")[0]
        if top not in TOP_LEVEL and not top.startswith("."):
            report.error(name, "has no place at the top level")
        text = "" if tree.is_verbatim(name) else files.text(name)
        if not text or not (is_marked(name) or text.startswith("#!")):
            continue
        if not has_licence(text):
            report.error(name, "does not begin with the two licence lines")
        if name.endswith(".h") and not re.search(r"^#pragma once$", text, re.MULTILINE):
            report.error(name, "has no #pragma once")
        if not text.endswith("\n"):
            report.error(name, "has no line end at its end")
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > MAX_COLUMNS:
                report.error(f"{name}:{number}", f"{len(line)} columns; at most {MAX_COLUMNS}")
            if line != line.rstrip() or "\t" in line:
                report.error(f"{name}:{number}", "tab or blank at the end")


if __name__ == "__main__":
    tree.main(check, "files")
