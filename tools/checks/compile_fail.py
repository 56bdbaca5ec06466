#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles one section of a file whose sections must not compile, or none of them as the control.

A section is guarded by a macro and says what the compiler's message must contain:

    #ifdef REDUCE_IN_REPLICA
    // EXPECT: no member named 'reduce'
    ...
    #endif

usage: compile_fail.py SOURCE --sections A B --section A -- COMPILER OPTIONS
"""

import argparse
import os
import re
import subprocess
import sys

SECTION = re.compile(r"^#ifdef (\w+)\n *// EXPECT: (.+)$", re.MULTILINE)
MACRO = re.compile(r"^#\s*if(?:def|\s+defined\()?\s*(\w+)", re.MULTILINE)


def compile_source(command, source, macros):
    run = subprocess.run([*command, *(f"-D{macro}" for macro in macros), "-fsyntax-only", source],
                         capture_output=True, text=True, env=os.environ | {"LC_ALL": "C"})
    return run.returncode, run.stderr


def check_control(command, source, text, sections):
    """The file compiles without its sections, and each of them is both written and listed."""
    written = set(MACRO.findall(text))
    if written != set(sections):
        return f"sections written and listed differ: {sorted(written ^ set(sections))}"
    status, messages = compile_source(command, source, [])
    return f"the control does not compile:\n{messages}" if status else None


def check_section(command, source, text, section):
    """The section does not compile, and for the reason that it gives."""
    expected = dict(SECTION.findall(text)).get(section)
    if expected is None:
        return f"no `#ifdef {section}` followed by a line `// EXPECT: <regular expression>`"
    status, messages = compile_source(command, source, [section])
    if status == 0:
        return f"{section} compiles, and must not"
    if not re.search(expected, messages):
        return f"{section} fails for another reason than '{expected}':\n{messages}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source")
    parser.add_argument("--sections", nargs="+", required=True)
    parser.add_argument("--section")
    split = sys.argv.index("--")
    arguments = parser.parse_args(sys.argv[1:split])
    command = sys.argv[split + 1:]
    with open(arguments.source, encoding="utf-8") as file:
        text = file.read()
    if arguments.section:
        failure = check_section(command, arguments.source, text, arguments.section)
    else:
        failure = check_control(command, arguments.source, text, arguments.sections)
    print(failure or "ok")
    sys.exit(1 if failure else 0)


if __name__ == "__main__":
    main()
