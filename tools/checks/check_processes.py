#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the table of verbs in docs/processes.md: every public function of strategies, contexts and
checkpoints has a row, and every row has a test that exists.

A row has the functions in code type, the processes that take part, and a test. A function `verb_at`
belongs to the row of `verb`.
"""

import re

import tree

PAGE = "docs/processes.md"
PARTS = {"all", "own", "BF-080"}
INCLUDE = "core/include/belfry/"
CLASSES = {"strategy.h": "Strategy", "replica_context.h": "ReplicaContext",
           "cross_replica_context.h": "CrossReplicaContext", "checkpoint.h": "Checkpoint",
           "detail/strategy_verbs.h": "StrategyVerbs", "detail/assign_verbs.h": "AssignVerbs",
           "detail/axis_verbs.h": "AxisVerbs", "detail/destination_verbs.h": "DestinationVerbs"}
FUNCTIONS = ["vjp.h", "indexed_slices.h", "scatter.h", "launch.h"]
# For belfry itself.
INTERNAL = {"core", "merges"}

SECTION = re.compile(r"^## Verbs$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| (.+?) \| ([\w-]+) \| (?:.* )?\| `(\w+\.\w+)` \|$")
HEAD = re.compile(r"^\| [^`|]+ \| processes \| outcome \| test \|$")
QUOTED = re.compile(r"`(\w+)[^`]*`")
VERB = re.compile(r"^  (?:detail::)?Verb<.*> (\w+)\{", re.MULTILINE)
MEMBER = re.compile(r"^  (?=\S)(?!using |friend |return |struct |explicit |//|virtual ~)"
                    r"(?:[\w:<>&*, ]+[ &*])(\w+)\(", re.MULTILINE)
FREE = re.compile(r"^(?:inline )?(?!using |return |//)[\w:<>&*, ]+[ &*](\w+)\((?:ReplicaContext|"
                  r"CrossReplicaContext|const K& )", re.MULTILINE)
TEST = re.compile(r"\bTEST(?:_F)?\((\w+),\s*(\w+)\)")


def public_part(text, name):
    """Returns the public members of a class, without the rest of the header."""
    body = re.search(rf"^class {name}\b.*?^}};", text, re.MULTILINE | re.DOTALL)
    if not body:
        return ""
    return re.split(r"^ (?:private|protected):", body[0], maxsplit=1, flags=re.MULTILINE)[0]


def declared(files):
    """Returns {function: header}."""
    found = {}
    for header, name in CLASSES.items():
        if INCLUDE + header in files.files:
            part = public_part(files.text(INCLUDE + header), name)
            for verb in VERB.findall(part) + MEMBER.findall(part):
                found[verb.removesuffix("_at")] = header
    for header in FUNCTIONS:
        if INCLUDE + header in files.files:
            text = re.sub(r"^namespace detail \{.*?^\}  // namespace detail", "",
                          files.text(INCLUDE + header), flags=re.MULTILINE | re.DOTALL)
            found |= dict.fromkeys(FREE.findall(text), header)
    return {name: header for name, header in found.items() if name not in INTERNAL}


def check(files, report):
    if PAGE not in files.files:
        return
    section = SECTION.search(files.text(PAGE))
    if not section:
        report.error(PAGE, "there is no section 'Verbs'")
        return
    tests = {".".join(found) for name in files.code() if name.startswith("proptests/processes/")
             for found in TEST.findall(files.text(name))}
    named, in_table = set(), False
    for line in section[1].splitlines():
        in_table = line.startswith("|") and (in_table or HEAD.match(line) is not None)
        if not in_table or HEAD.match(line) or line.startswith("|---"):
            continue
        row = ROW.match(line)
        if not row:
            report.error(PAGE, f"a row without verbs, part, outcome and test: {line}")
            continue
        named |= set(QUOTED.findall(row[1]))
        if row[2] not in PARTS:
            report.error(PAGE, f"'{row[2]}' is none of {', '.join(sorted(PARTS))}")
        if row[3] not in tests:
            report.error(PAGE, f"there is no test {row[3]}")
    for name, header in sorted(declared(files).items()):
        if name not in named:
            report.error(PAGE, f"{name} of {header} has no row")


if __name__ == "__main__":
    tree.main(check, "verbs of processes")
