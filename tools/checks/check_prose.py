#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that the prose of no folder becomes vaguer than prose_limits.txt says, in percent.

    pronouns   words that stand for a noun (it, that, which, one, such, so, ...), of all words
    headless   sentences that begin with such a word, of all sentences

Prose is the text of `//` comments and of the paragraphs of pages; lists, tables, headings and code
blocks are left out, and so are sentences of fewer than five words.

usage: check_prose.py [--root FOLDER] [--write]
"""

import dataclasses
import pathlib
import re
import sys

import tree

LIMITS = "tools/checks/prose_limits.txt"
# A folder is the first pattern that a path begins with.
FOLDERS = re.compile(r"core/include|core/src/\w+|backends/\w+|core/extras/\w+|proptests|tools|docs|"
                     r"README[.]md")
PRONOUN = re.compile(
    r"\b(?:it|its|this|that|those|these|they|them|who|whom|whoever|whose|which|what|whatever|one|"
    r"ones|such|others?|another|nobody|somebody|anybody|there|so)\b", re.IGNORECASE)
HEADLESS = re.compile(r"(?:What|Whatever|Who|Whoever|Whose|Where|Those|That|One|Ones|Such|Nobody|"
                      r"Somebody|Anybody|As|So)\b")
WORD = re.compile(r"[A-Za-z][\w'-]*")
COMMENTS = re.compile(r"(?:^[ \t]*//[^\n]*\n)+", re.MULTILINE)
FENCES = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
NO_PROSE = re.compile(r"SPDX-|NOLINT|clang-format")
NO_PARAGRAPH = ("|", "#", "-", "<", "!", ">", "*", "    ")
SHORTEST = 5
# Limits are rounded to a tenth of a percent.
ROUNDING = 0.05
# A limit further above the share of a folder would hide a worse text.
SLACK = 0.5


@dataclasses.dataclass
class Count:
    words: int = 0
    pronouns: int = 0
    sentences: int = 0
    headless: int = 0

    def add(self, other):
        for field in dataclasses.fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    def shares(self):
        return (100 * self.pronouns / max(self.words, 1),
                100 * self.headless / max(self.sentences, 1))


def paragraphs(name, text):
    """Yields the paragraphs of a page, or the blocks of comments of a source."""
    if name.endswith(".md"):
        for paragraph in re.split(r"\n\s*\n", FENCES.sub("", text)):
            if not paragraph.lstrip("\n").startswith(NO_PARAGRAPH):
                yield paragraph
        return
    for block in COMMENTS.findall(text):
        yield "\n".join(re.sub(r"^\s*//+<?\s?", "", line) for line in block.splitlines())


def count_of(name, text):
    """Returns the count of a file."""
    count = Count()
    for paragraph in paragraphs(name, text):
        if NO_PROSE.search(paragraph):
            continue
        for sentence in re.split(r"(?<=[.;:!?])\s+", " ".join(paragraph.split())):
            words = WORD.findall(sentence)
            if len(words) < SHORTEST:
                continue
            count.add(Count(len(words), len(PRONOUN.findall(sentence)), 1,
                            bool(HEADLESS.match(sentence))))
    return count


def counts_of(files):
    """Returns {folder: {file: count}}."""
    counts = {}
    for name in files.files:
        folder = FOLDERS.match(name)
        prose = name.endswith(".md") or pathlib.PurePath(name).suffix in tree.CODE_SUFFIXES
        if folder and prose and not tree.is_verbatim(name):
            counts.setdefault(folder[0], {})[name] = count_of(name, files.text(name))
    return counts


def total(counts):
    everything = Count()
    for count in counts.values():
        everything.add(count)
    return everything


def read_limits(text):
    """Returns {folder: (pronouns, headless)}."""
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {folder: (float(pronouns), float(headless)) for folder, pronouns, headless in lines}


def worst_of(counts, kind):
    """Returns the files with the greatest part in the share of a folder, with their own shares."""
    def excess(name):
        return (counts[name].pronouns, counts[name].headless)[kind]
    names = sorted(counts, key=excess, reverse=True)[:3]
    return ", ".join(f"{name} {counts[name].shares()[kind]:.1f} %" for name in names)


def check(files, report):
    path = files.root / LIMITS
    limits = read_limits(path.read_text()) if path.exists() else {}
    counts = counts_of(files)
    for folder in sorted(limits.keys() ^ counts.keys()):
        report.error(LIMITS, f"{folder} is in the limits or in the tree, and not in both")
    for folder in sorted(limits.keys() & counts.keys()):
        shares = total(counts[folder]).shares()
        for kind, what in enumerate(("pronouns", "headless sentences")):
            share, limit = shares[kind], limits[folder][kind]
            if share > limit + ROUNDING:
                report.error(folder, f"{share:.1f} % {what}, at most {limit} %; most are in "
                                     f"{worst_of(counts[folder], kind)}")
            elif share < limit - SLACK:
                report.warn(folder, f"{share:.1f} % {what}: lower the limit of {limit} %")


def write(files):
    lines = ["# The most that each folder may have, in percent: pronouns, headless sentences.",
             "# check_prose.py says what is counted; check_prose.py --write writes this file."]
    for folder, counts in sorted(counts_of(files).items()):
        pronouns, headless = total(counts).shares()
        lines.append(f"{folder} {pronouns:.1f} {headless:.1f}")
    (files.root / LIMITS).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if "--write" in sys.argv:
        sys.argv.remove("--write")
        write(tree.Tree(sys.argv[-1] if "--root" in sys.argv else
                        pathlib.Path(__file__).resolve().parents[2]))
        sys.exit(0)
    tree.main(check, "prose")
