#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the formatting with clang-format 19; exits with 77 (skipped) where that is missing."""

import re
import shutil
import subprocess
import sys

import tree

WANTED = "19"
SKIPPED = 77


def find_formatter():
    """Returns a clang-format of the wanted version, whose output defines the style."""
    for name in (f"clang-format-{WANTED}", "clang-format"):
        path = shutil.which(name)
        if path:
            version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
            if re.search(rf"version {WANTED}\.", version):
                return path
    return None


def check(files, report):
    formatter = find_formatter()
    if formatter is None:
        print(f"SKIPPED: clang-format {WANTED} is not installed; formatting was not checked")
        sys.exit(SKIPPED)
    names = [name for name in files.code() if not tree.is_verbatim(name)]
    for start in range(0, len(names), 50):
        run = subprocess.run([formatter, "--dry-run", "--style=file", *names[start:start + 50]],
                             cwd=files.root, capture_output=True, text=True)
        places = re.findall(r"^([^\s:]+):(\d+):\d+: (?:warning|error):", run.stderr, re.M)
        for name in sorted({name for name, _ in places}):
            lines = [line for other, line in places if other == name]
            report.error(f"{name}:{lines[0]}", f"not formatted ({len(lines)} places)")
        if run.returncode != 0 and not places:
            report.error("clang-format", run.stderr.strip())


if __name__ == "__main__":
    tree.main(check, "format")
