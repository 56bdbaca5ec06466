#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Writes a copy of a file that contains the faults of several patches, each behind a guard.

A patch has some words, a line `--- a/FILE` and the hunks, as in a unified diff; a line @@ is
between two hunks. The removed lines of a hunk must be whole statements, and so must the added
lines, because the copy has both:

    if (::belfry::testing::planted("NAME OF THE PATCH")) {
      added lines
    } else {
      removed lines
    }

A hunk is found by its text, which must occur exactly once: a patch goes on fitting while the file
around the hunk grows, and fails loudly when the text is gone.

usage: guarded_copy.py ROOT FILE OUTPUT PATCH...
"""

import os
import pathlib
import re
import sys

OLD_FILE = re.compile(r"^--- a/(\S+)$", re.MULTILINE)


def hunks_of(patch):
    """Returns (old text, new text) of each hunk."""
    hunks = [([], [])]
    for line in OLD_FILE.split(patch)[-1].splitlines()[1:]:
        mark, text = line[:1], line[1:]
        if line == "@@":
            hunks.append(([], []))
        if mark in (" ", "-", ""):
            hunks[-1][0].append(text)
        if mark in (" ", "+", ""):
            hunks[-1][1].append(text)
    return [tuple("".join(f"{line}\n" for line in side) for side in hunk) for hunk in hunks]


def guarded(name, old, new):
    """Returns a text that does `new` if the fault is chosen and else `old`."""
    before, after = (text.splitlines(keepends=True) for text in (old, new))
    first = os.path.commonprefix([before, after])
    before, after = before[len(first):], after[len(first):]
    last = os.path.commonprefix([before[::-1], after[::-1]])[::-1]
    before, after = (lines[:len(lines) - len(last)] for lines in (before, after))
    return "".join([*first, f'if (::belfry::testing::planted("{name}")) {{\n', *after,
                    "} else {\n", *before, "}\n", *last])


def plant(name, patch, file, text):
    """Returns the text of a file with one more fault. Exits if the patch does not fit."""
    if OLD_FILE.findall(patch) != [file]:
        sys.exit(f"{name} is no patch of {file} alone")
    for old, new in hunks_of(patch):
        if text.count(old) != 1:
            sys.exit(f"{name}: found {text.count(old)} times in {file}, not once:\n{old}")
        text = text.replace(old, guarded(name, old, new))
    return text


def main():
    root, file, output, *patches = sys.argv[1:]
    text = (pathlib.Path(root) / file).read_text(encoding="utf-8")
    for path in map(pathlib.Path, patches):
        text = plant(path.stem, path.read_text(encoding="utf-8"), file, text)
    output = pathlib.Path(output)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(f'#include "mutants/planted.h"\n{text}', encoding="utf-8")


if __name__ == "__main__":
    main()
