# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""What sources and pages cite by a number: rules, invariants, error codes."""

import re

import page

RULES = "docs/semantics.md"
ERRORS = "docs/errors.md"
CODES = "core/include/belfry/error.h"
RULE_HEADING = re.compile(r"^### (SEM-\d+) \S", re.MULTILINE)
ENUMERATOR = re.compile(r"^  (k\w+) = (\d+),", re.MULTILINE)
SECTION = re.compile(r"^### (BF-\d{3} k\w+)$", re.MULTILINE)


def rules_of(files):
    """Returns the rules of the page, in its order: SEM-1, ..."""
    return RULE_HEADING.findall(files.text(RULES))


def invariants_of(files):
    """Returns [(INV-n, its row)] of the page of rules."""
    return [(cells[0], " ".join(cells)) for _, cells in page.Page(files.text(RULES)).rows()
            if re.fullmatch(r"INV-\d+", cells[0])]


def codes_of(files):
    """Returns {BF-nnn: name} of the codes that the library has."""
    return {f"BF-{int(number):03}": name
            for name, number in ENUMERATOR.findall(files.text(CODES))}


def sections_of(files):
    """Returns [("BF-nnn kName", text)] of the page of errors."""
    parts = SECTION.split(files.text(ERRORS))
    return list(zip(parts[1::2], parts[2::2]))
