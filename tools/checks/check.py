#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the checks of the sources: all, or those that are named.

usage: check.py [--root FOLDER] [--write] [NAME ...]

--write brings the tree up to date instead, where a check can: `docs` puts the text of sources and
expected outputs into the pages that show them, `prose` makes the present shares the limits,
`suites` gives each suite a row in the table of runs. Read the diff. Exit status: 0 ok, 1 errors,
77 a check was skipped for want of a tool.
"""

import argparse
import pathlib
import sys

import check_citations
import check_determinism
import check_docs
import check_files
import check_layers
import check_prints
import check_prose
import check_suites
import check_tables
import check_words
import tree

CHECKS = {
    "changes": check_tables.check_changes,
    "layers": check_layers.check,
    "sizes": check_files.check_sizes,
    "files": check_files.check,
    "words": check_words.check,
    "determinism": check_determinism.check,
    "format": check_files.check_format,
    "docs": check_docs.check,
    "citations": check_citations.check,
    "mapping": check_tables.check_mapping,
    "mutants": check_tables.check_mutants,
    "overridden": check_tables.check_overridden,
    "prints": check_prints.check,
    "processes": check_tables.check_processes,
    "prose": check_prose.check,
    "suites": check_suites.check,
}
WRITERS = {"docs": check_docs.write, "prose": check_prose.write, "suites": check_suites.write}


def run(name, files):
    """Returns the report of a check."""
    report = tree.Report()
    CHECKS[name](files, report)
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CHECKS))
    given = parser.parse_args()
    known = WRITERS if given.write else CHECKS
    if unknown := set(given.names) - set(known):
        parser.error(f"no check {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    files = tree.Tree(given.root)
    if given.write:
        for name in given.names or WRITERS:
            WRITERS[name](files)
        return 0
    # Errors count more than a check that was skipped.
    ends = {run(name, files).finish(f"{name}, {len(files.files)} files")
            for name in given.names or CHECKS}
    return 1 if 1 in ends else max(ends)


if __name__ == "__main__":
    sys.exit(main())
