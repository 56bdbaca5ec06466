#!/usr/bin/env python3
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
    ("a tracker's number", r"(?<=[\s(])(?<!merge )(?<!_call )(?<!_reduce )(?<!assign )"
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
         "www.tensorflow.org", "www.debian.org", "example.com"}


def check(files, report):
    for name in files.files:
        if name == "LICENSE":
            continue
        for number, line in enumerate(files.text(name).splitlines(), 1):
            where = f"{name}:{number}"
            for what, pattern in FORBIDDEN:
                found = re.search(pattern, line)
                if found:
                    report.error(where, f"{what}: '{found[0].strip()}'")
            if not OLD_WORD_PLACES.match(name) and OLD_WORD.search(line):
                report.error(where, "the older word for replica")
            for host in URL.findall(line):
                if host not in HOSTS:
                    report.error(where, f"the host {host} is not in the list of check_words.py")


if __name__ == "__main__":
    tree.main(check, "words")
