#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles a file whose sections must not compile, and judges one section or the control.

A section is guarded by a macro and has a regular expression for the compiler's message:

    #ifdef REDUCE_IN_REPLICA
    // EXPECT: no member named 'reduce'
    ...
    #endif

EXPECT  is found in the messages.
FIRST   is found in the line of the first error, and the messages have at most 14 lines, not
        counting clang's chain of includes.
ALL     is found in the line of each error.
TYPO    is found in the line of each error, and no line before the first names a header of belfry.

The tests do not depend on the place of the files: in the messages, the folders of the option -I are
<belfry>, the file is <source>, and the folder of the file is <beside>.

The file is compiled without sections: this is the control, which must compile. Then the file is
compiled with all sections. An error belongs to the section that contains its line; an error in a
header belongs to the section that the compiler names as the origin of the instantiation. Compilers
report some errors once for several sections, or without the origin: a section is compiled again,
alone, if its expected message is not found. The report holds the messages of each section.

With --alone each section is compiled by itself, and the whole output of the compiler is judged.

usage: compile_fail.py SOURCE --alone -- COMPILER OPTIONS                          judges all
       compile_fail.py SOURCE --report REPORT --sections A B -- COMPILER OPTIONS   writes the report
       compile_fail.py SOURCE --report REPORT --section A                          reads it
       compile_fail.py SOURCE --report REPORT --control                            reads it
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
from concurrent import futures

SECTION = re.compile(r"^#ifdef (\w+)\n *// (EXPECT|FIRST|ALL|TYPO): (.+)$", re.MULTILINE)
SOURCE, HEADERS = "<source>", "<belfry>"
MOST_LINES = 14
MACRO = re.compile(r"^#\s*if(?:def|\s+defined\()?\s*(\w+)", re.MULTILINE)
GUARDED = re.compile(r"^#ifdef (\w+)$.*?^#endif$", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"(\S+?):(\d+)(?::\d+)?: +(?:(error|fatal error|warning|note):)?")
# GCC prints these lines before the diagnostic that they explain.
BEFORE = re.compile(r"In file included from |\s+from \S+:\d+|\S+: (?:In|At) "
                    r"|\S+:\d+:(?:\d+:)? {2,}")
# clang prints the origin of an instantiation as notes behind the error.
ORIGIN = re.compile(r"note: .*(?:requested here|required here|while )")
# Lines of source under a message, which may quote what a message should say.
QUOTED = re.compile(r"^ *\d* \|.*$", re.MULTILINE)


def without_places(messages, command, source):
    """Returns the messages with names in place of the file, its folder and the folders of -I."""
    names = {source: SOURCE, os.path.join(os.path.dirname(source), ""): "<beside>/"}
    names |= {os.path.join(option[2:], ""): f"{HEADERS}/" for option in command
              if option.startswith("-I")}
    for place in sorted(filter(None, names), key=len, reverse=True):
        messages = messages.replace(place, names[place])
    return messages


def compile_source(command, source, macros):
    run = subprocess.run([*command, *(f"-D{macro}" for macro in macros), "-fsyntax-only", source],
                         capture_output=True, encoding="utf-8", errors="replace",
                         env=os.environ | {"LC_ALL": "C"})
    return run.returncode, without_places(run.stderr, command, source)


def errors_of(messages):
    """Returns (lines before, the error and the lines behind it) of each error."""
    blocks, before = [], []
    for line in messages.splitlines():
        place = PLACE.match(line)
        if BEFORE.match(line):
            before.append(line)
        elif place and place[3] not in (None, "note"):
            blocks.append((place[3], before, [line]))
            before = []
        elif blocks:
            blocks[-1][2].extend([*before, line])
            before = []
    return [(before, lines) for kind, before, lines in blocks if kind != "warning"]


class Sections:
    """Says which section of a file an error belongs to."""

    def __init__(self, text):
        self.ranges = {match[1]: (text.count("\n", 0, match.start()) + 1,
                                  text.count("\n", 0, match.end()) + 1)
                       for match in GUARDED.finditer(text)}

    def at(self, line):
        """Returns the section that contains the place at which a line of the compiler begins."""
        place = PLACE.match(line)
        if not place or place[1] != SOURCE:
            return None
        number = int(place[2])
        return next((section for section, (first, last) in self.ranges.items()
                     if first <= number <= last), None)

    def of(self, before, lines):
        """Returns the section of an error, or nothing."""
        origins = [lines[0], *before, *(line for line in lines if ORIGIN.search(line))]
        return next(filter(None, map(self.at, origins)), None)

    def split(self, messages):
        """Returns {section: its messages}; the section of some errors is not known: None."""
        found = {}
        for before, lines in errors_of(messages):
            found.setdefault(self.of(before, lines), []).extend([*before, *lines])
        return {section: "\n".join(lines) for section, lines in found.items()}


def expectation(text, section):
    """Returns (kind, regular expression) of a section, or nothing."""
    return next((found[1:] for found in SECTION.findall(text) if found[0] == section), None)


def line_count(messages):
    """The length of the chain depends on the order of a program's includes."""
    return sum(not line.startswith("In file included from") for line in messages.splitlines())


def fails_as_expected(text, section, messages):
    expected = expectation(text, section)
    if expected is None:
        return False
    kind, wanted = expected
    if kind == "EXPECT":
        return re.search(wanted, QUOTED.sub("", messages)) is not None
    errors = errors_of(messages)
    found = [re.search(wanted, lines[0]) is not None for _, lines in errors]
    if not found or not found[0]:
        return False
    if kind == "FIRST":
        return line_count(messages) <= MOST_LINES
    before, lines = errors[0]
    names_header = any(f"{HEADERS}/" in line for line in [*before, lines[0]])
    return all(found) and not (kind == "TYPO" and names_header)


def report_of(command, source, text, listed):
    """Returns what the compiler says about the control and each section."""
    control, why = compile_source(command, source, [])
    _, together = compile_source(command, source, listed)
    messages = Sections(text).split(together)
    unknown = messages.pop(None, None)
    alone = [section for section in listed
             if not fails_as_expected(text, section, messages.get(section, ""))
             or unknown and expectation(text, section)[0] in ("ALL", "TYPO")]
    for section in alone:
        status, messages[section] = compile_source(command, source, [section])
        if status == 0:
            del messages[section]
    return {"listed": listed, "control": why if control else "", "alone": alone,
            "messages": messages}


def check_control(report, text):
    """The file compiles without its sections, and each of them is both written and listed."""
    written = set(MACRO.findall(text))
    if written != set(report["listed"]):
        return f"sections written and listed differ: {sorted(written ^ set(report['listed']))}"
    return f"the control does not compile:\n{report['control']}" if report["control"] else None


def check_section(report, text, section):
    """The section does not compile, and for the reason that it gives."""
    expected = expectation(text, section)
    if not expected:
        return f"no `#ifdef {section}` followed by a line `// EXPECT: <regular expression>`"
    messages = report["messages"].get(section)
    if messages is None:
        return f"{section} compiles, and must not"
    if not fails_as_expected(text, section, messages):
        lines = line_count(messages)
        return (f"{section} fails for another reason than {' '.join(expected)!r}, or with too many "
                f"lines ({lines}):\n{messages}")
    return None


def judge_alone(command, source, text):
    """Compiles each section by itself. Returns the failures."""
    sections = [section for section, _, _ in SECTION.findall(text)]
    with futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = pool.map(lambda section: compile_source(command, source, [section]), sections)
    messages = {section: output for section, (status, output) in zip(sections, runs) if status}
    failures = [check_section({"messages": messages}, text, section) for section in sections]
    return list(filter(None, failures))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source")
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--sections", nargs="+")
    parser.add_argument("--section")
    parser.add_argument("--control", action="store_true")
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given = parser.parse_args(sys.argv[1:split])
    text = pathlib.Path(given.source).read_text(encoding="utf-8")
    if given.alone:
        failures = judge_alone(sys.argv[split + 1:], given.source, text)
        print("\n".join(failures) or "ok")
        sys.exit(1 if failures else 0)
    if given.sections:
        given.report.unlink(missing_ok=True)
        report = report_of(sys.argv[split + 1:], given.source, text, given.sections)
        given.report.write_text(json.dumps(report, indent=1), encoding="utf-8")
        print("compiled alone:", ", ".join(report["alone"]) or "none")
        return
    report = json.loads(given.report.read_text(encoding="utf-8"))
    failure = (check_control(report, text) if given.control
               else check_section(report, text, given.section))
    print(failure or "ok")
    sys.exit(1 if failure else 0)


if __name__ == "__main__":
    main()
