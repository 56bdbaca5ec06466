#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Writes a changed copy of a file, as a unified diff says.

Each hunk is found by its text, which must occur exactly once, and not by its line numbers: so a
patch goes on fitting while the file around it grows, and fails loudly when what it changes is gone.

usage: apply_patch.py FILE PATCH OUTPUT
"""

import pathlib
import sys


def hunks_of(patch):
    """Returns (old text, new text) of each hunk."""
    hunks = []
    for line in patch.splitlines():
        if line.startswith("@@"):
            hunks.append(([], []))
        elif hunks and not line.startswith(("---", "+++")):
            mark, text = line[:1], line[1:]
            if mark in (" ", "-", ""):
                hunks[-1][0].append(text)
            if mark in (" ", "+", ""):
                hunks[-1][1].append(text)
    return [tuple("".join(f"{line}\n" for line in side) for side in hunk) for hunk in hunks]


def main():
    file, patch, output = (pathlib.Path(argument) for argument in sys.argv[1:])
    text = file.read_text(encoding="utf-8")
    hunks = hunks_of(patch.read_text(encoding="utf-8"))
    if not hunks:
        sys.exit(f"{patch}: no hunk")
    for old, new in hunks:
        if text.count(old) != 1:
            sys.exit(f"{patch}: found {text.count(old)} times in {file}, not once:\n{old}")
        text = text.replace(old, new)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
