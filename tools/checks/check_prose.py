# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that the prose of no folder becomes vaguer than prose_limits.txt says, in percent.

    pronouns   words that stand for a noun (it, that, which, one, such, so, ...), of all words
    headless   sentences that begin with such a word, of all sentences

Prose is the text of `//` comments and of the paragraphs of pages; lists, tables, headings and code
blocks are left out, and so are sentences of fewer than five words.
"""

import collections
import re

import page
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
NO_PROSE = re.compile(r"SPDX-|NOLINT|clang-format")
SHORTEST = 5
ROUNDING = 0.05  # Limits are rounded to a tenth of a percent.


def paragraphs_of(name, text):
    """Returns the paragraphs of a page, or the blocks of comments of a source."""
    if name.endswith(".md"):
        return page.Page(text).paragraphs()
    return [re.sub(r"^\s*//+<?\s?", "", block, flags=re.MULTILINE)
            for block in COMMENTS.findall(text)]


def count_of(name, text):
    """Counts words, pronouns, sentences and headless sentences of a file."""
    count = collections.Counter()
    for paragraph in paragraphs_of(name, text):
        if NO_PROSE.search(paragraph):
            continue
        for sentence in re.split(r"(?<=[.;:!?])\s+", " ".join(paragraph.split())):
            words = len(WORD.findall(sentence))
            if words >= SHORTEST:
                count.update(words=words, pronouns=len(PRONOUN.findall(sentence)), sentences=1,
                             headless=bool(HEADLESS.match(sentence)))
    return count


def counts_of(files):
    """Returns {folder: {file: count}}."""
    counts = {}
    for name in [*files.pages(), *files.code()]:
        folder = FOLDERS.match(name)
        if folder and not tree.is_verbatim(name):
            counts.setdefault(folder[0], {})[name] = count_of(name, files.text(name))
    return counts


def shares_of(counts):
    """Returns {what: percent} of the files of a folder."""
    total = sum(counts.values(), collections.Counter())
    return {"pronouns": 100 * total["pronouns"] / max(total["words"], 1),
            "headless": 100 * total["headless"] / max(total["sentences"], 1)}


def check(files, report):
    lines = [line.split() for _, line in files.lines(LIMITS) if line and not line.startswith("#")]
    limits = {folder: {"pronouns": float(pronouns), "headless": float(headless)}
              for folder, pronouns, headless in lines}
    counts = counts_of(files)
    for folder in sorted(limits.keys() ^ counts.keys()):
        report.error(LIMITS, f"{folder} is in the limits or in the tree, and not in both")
    for folder in sorted(limits.keys() & counts.keys()):
        for what, share in shares_of(counts[folder]).items():
            limit = limits[folder][what]
            if share > limit + ROUNDING:
                most = sorted(counts[folder], key=lambda name: -counts[folder][name][what])[:3]
                report.error(folder, f"{share:.1f} % {what}, at most {limit} %; most are in "
                                     f"{', '.join(most)}")


def write(files):
    """Makes the shares of the tree the limits."""
    lines = ["# The most that each folder may have, in percent: pronouns, headless sentences.",
             "# check_prose.py says what is counted; check.py --write prose writes this file."]
    for folder, counts in sorted(counts_of(files).items()):
        shares = shares_of(counts)
        lines.append(f"{folder} {shares['pronouns']:.1f} {shares['headless']:.1f}")
    (files.root / LIMITS).write_text("\n".join(lines) + "\n", encoding="utf-8")
