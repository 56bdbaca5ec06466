# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that the tree speaks of itself alone: no local paths, hosts, trackers or leftovers."""

import re

import tree

# Written in pieces, so that this file does not contain what it forbids.
FORBIDDEN = [
    ("a local path", r"(?<![\w.$}/-])/" + r"(work|home(?!/user/)|root|Users)/"),
    ("a local path", r"/tmp" + r"/(helpers|build-|bash_)"),
    ("notes outside the tree", r"\bshared" + r"/(design|programs|data|reference|conformance)\b"),
    ("a tracker's number", r"\b(issue|ticket|pull request|PR)s?" + r"\s+#?\d+\b"),
    # Messages number merges: `merge_call` and the like may precede.
    ("a tracker's number", r"(?<=[ \t(])(?<!merge )(?<!_call )(?<!_reduce )(?<!assign )"
                           + r"#[1-9]\d{0,5}(?=[\s).,;:]|$)"),
    ("a leftover", r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b"),
    ("a private host", r"\b[\w-]+\.(inter" + r"nal|cor" + r"p|la" + r"n|intra" + r"net)\b"),
]

# The older word of the field has its places; identifiers elsewhere say replica.
# Files that are about the older words may be named for them.
OLD_WORD = re.compile(r"(?<!belfry::)\bto" + r"wers?\b(?!\.(?:h|cpp)\b)|"
                      r"\bTo" + r"wers?\b|Tow" + r"er(?=[A-Z])")
OLD_WORD_PLACES = re.compile(r"README\.md|docs/|.*/to" + r"wer[_.\w]*|core/extras/CMakeLists\.txt|"
                             r"tools/(checks|cmake|consumers)/|" + tree.VERBATIM)

# Addresses may be named for attribution and documentation.
URL = re.compile(r"https?://([\w.-]+)")
HOSTS = {"www.apache.org", "archive.ics.uci.edu", "docs.nvidia.com", "cmake.org", "github.com",
         "doi.org", "creativecommons.org", "scikit-learn.org", "json-schema.org", "localhost",
         "www.tensorflow.org", "www.debian.org", "www.w3.org", "example.com"}


def faults_of(name, text):
    """Yields (place in the text, fault)."""
    for what, pattern in FORBIDDEN:
        for found in re.finditer(pattern, text):
            yield found.start(), f"{what}: '{found[0].strip()}'"
    if not OLD_WORD_PLACES.match(name):
        for found in OLD_WORD.finditer(text):
            yield found.start(), "the older word for replica"
    for found in URL.finditer(text):
        if found[1] not in HOSTS:
            yield found.start(), f"the host {found[1]} is not in the list of check_words.py"


def check(files, report):
    for name in files.files:
        if name != "LICENSE":
            for place, fault in faults_of(name, files.text(name)):
                report.error(f"{name}:{tree.line_of(files.text(name), place)}", fault)
