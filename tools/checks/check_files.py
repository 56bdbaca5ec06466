# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the top level of the tree, the budgets of files, functions and interfaces, and the licence
lines and layout of every text file. clang-format 19 decides the layout of C++.
"""

import re
import shutil
import subprocess

import cpp
import tree

COPYRIGHT = "SPDX-FileCopyrightText: The belfry authors"
LICENCE = "SPDX-License-Identifier: Apache-2.0"
SCRIPTS = (".py", ".sh", ".cmake", "CMakeLists.txt")
MARKED = (*tree.CODE_SUFFIXES, *SCRIPTS, ".in", ".clang-format", ".clang-tidy")
MAX_COLUMNS = 100
# Beside files and folders whose names begin with a dot.
TOP_LEVEL = {"CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md", "backends", "core",
             "docs", "proptests", "tools"}
# The most lines, parameters and pure virtuals.
FILE, TEST_FILE, PUBLIC_HEADER = 400, 600, 300
FUNCTION, PARAMETERS, PURE_VIRTUALS = 60, 6, 8
# A vendor chooses the parameters, and the verbs take up to eight arguments.
MORE_PARAMETERS = re.compile(r"(cuda|nccl)[A-Z]|operator$")
FORMATTER = "19"


def check_lines(files, report, name):
    text = files.text(name)
    lines = text.splitlines()
    first = lines[text.startswith("#!"):][:2]
    if len(first) < 2 or COPYRIGHT not in first[0] or LICENCE not in first[1]:
        report.error(name, "does not begin with the two licence lines")
    if name.endswith(".h") and "#pragma once" not in lines:
        report.error(name, "has no #pragma once")
    if not text.endswith("\n"):
        report.error(name, "has no line end at its end")
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS:
            report.error(f"{name}:{number}", f"{len(line)} columns; at most {MAX_COLUMNS}")
        if line != line.rstrip() or "\t" in line:
            report.error(f"{name}:{number}", "tab or blank at the end")


def check(files, report):
    for name in files.files:
        top = name.partition("/")[0]
        if top not in TOP_LEVEL and not top.startswith("."):
            report.error(name, "has no place at the top level")
        text = "" if tree.is_verbatim(name) else files.text(name)
        if text and (name.endswith(MARKED) or text.startswith("#!")):
            check_lines(files, report, name)


def most_lines(name):
    if "/include/belfry/" in name and not name.startswith("proptests/"):
        return PUBLIC_HEADER
    return TEST_FILE if tree.is_test(name) else FILE


def sizes_of(text):
    """Yields (line, what, size, most) of the functions and interfaces of a source."""
    virtuals = {}
    for declared in cpp.declarations(text):
        if declared.head.startswith("virtual ") and re.search(r"= 0$", declared.head):
            virtuals[declared.owner] = virtuals.get(declared.owner, 0) + 1
        if declared.kind in ("class", "struct"):
            yield declared.line, f"{declared.name} (pure virtuals)", virtuals.pop(
                declared.name, 0), PURE_VIRTUALS
        if declared.kind == "function" and declared.body is not None:
            yield declared.line, f"{declared.name} (lines)", declared.lines, FUNCTION
            if not MORE_PARAMETERS.match(declared.name):
                yield (declared.line, f"{declared.name} (parameters)", declared.parameters(),
                       PARAMETERS)


def check_sizes(files, report):
    for name in files.files:
        if not name.endswith((*tree.CODE_SUFFIXES, *SCRIPTS)):
            continue
        text = files.text(name)
        if text.count("\n") > most_lines(name):
            report.error(name, f"the file (lines) has {text.count(chr(10))}; "
                               f"at most {most_lines(name)}")
        for line, what, size, most in sizes_of(text) if name.endswith(tree.CODE_SUFFIXES) else ():
            if size > most:
                report.error(f"{name}:{line}", f"{what} has {size}; at most {most}")


def find_formatter():
    """Returns a clang-format of the wanted version, whose output defines the style."""
    for path in filter(None, map(shutil.which, (f"clang-format-{FORMATTER}", "clang-format"))):
        version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
        if f"version {FORMATTER}." in version:
            return path
    return None


def check_format(files, report):
    formatter = find_formatter()
    if formatter is None:
        report.skipped = f"clang-format {FORMATTER} is not installed; formatting was not checked"
        return
    names = [name for name in files.code() if not tree.is_verbatim(name)]
    for start in range(0, len(names), 50):
        run = subprocess.run([formatter, "--dry-run", "--style=file", *names[start:start + 50]],
                             cwd=files.root, capture_output=True, text=True)
        places = re.findall(r"^([^\s:]+):(\d+):\d+: (?:warning|error):", run.stderr, re.M)
        first = {name: line for name, line in reversed(places)}
        for name, line in sorted(first.items()):
            report.error(f"{name}:{line}", "not formatted")
        if run.returncode != 0 and not places:
            report.error("clang-format", run.stderr.strip())
