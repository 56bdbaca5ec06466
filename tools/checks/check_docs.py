#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that pages show the code that is built and what it prints, and that links lead on.

A fenced cpp or cmake block follows a line that says where it comes from,

    <!-- snippet: docs/examples/first.cpp [name] -->

and repeats the lines of that file between two `// [name]` lines, `# [name]` in CMake; or, where
nothing can be compiled, a line that says why: `<!-- not compiled: a sketch -->`. What a program
prints is a text block after

    <!-- output: docs/examples/first.expected [name] -->

and repeats that file, or its lines between `== name` and the next line that begins so. Of commands
for a shell it is checked that tools/go has them and that CMake has the options. The page on
debugging has a row for each error code.
"""

import re
import textwrap

import tree

FENCE = re.compile(r"^ *```(cpp|cmake|text) *$")
SNIPPET = re.compile(r"^<!-- snippet: (\S+) \[(\w+)\] -->$")
OUTPUT = re.compile(r"^<!-- output: (\S+)(?: \[([\w-]+)\])? -->$")
NOT_COMPILED = re.compile(r"^<!-- not compiled: \S.* -->$")
COMMAND = re.compile(r"tools/go ([a-z]+)|-D(BELFRY_\w+)")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]+)(?:#[^)]*)?\)")


def region(text, name):
    """Returns the lines between the two markers of a region, without common indentation."""
    parts = re.split(rf"^[ \t]*(?://|#) \[{name}\][ \t]*\n", text, flags=re.MULTILINE)
    if len(parts) != 3:
        return None
    return textwrap.dedent(parts[1]).strip("\n")


def compiled(files, name):
    """Says whether a CMakeLists.txt in the file's folder or above it lists the file.

    A CMakeLists.txt of a project is listed, by its folder, above the folder or by the consumers.
    """
    folder, _, base = name.rpartition("/")
    above, _, project = folder.rpartition("/")
    lists = [f"{folder}/CMakeLists.txt", f"{above}/CMakeLists.txt"]
    stem = base.rpartition(".")[0]
    if base == "CMakeLists.txt":
        lists, stem = [*lists[1:], "tools/consumers/CMakeLists.txt"], project
    return any(re.search(rf"\b{re.escape(stem)}\b", files.text(path))
               for path in lists if path in files.files)


def check_block(files, report, where, origin, block):
    if NOT_COMPILED.match(origin):
        return
    found = SNIPPET.match(origin)
    if not found:
        report.error(where, "the block above has no `<!-- snippet: file [name] -->` before it")
    elif found[1] not in files.files:
        report.error(where, f"{found[1]} does not exist")
    elif not compiled(files, found[1]):
        report.error(where, f"{found[1]} is in no CMakeLists.txt, so it is not compiled")
    else:
        wanted = region(files.text(found[1]), found[2])
        if wanted is None:
            report.error(where, f"{found[1]} has no pair of `[{found[2]}]` lines")
        elif textwrap.dedent("\n".join(block)).strip("\n") != wanted:
            report.error(where, f"the block differs from {found[1]} [{found[2]}]")


def part_of(text, name):
    """Returns the lines of an expected output that belong to a name."""
    parts = re.split(r"^== ([\w-]+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2])).get(name)


def check_output(files, report, where, origin, block):
    found = OUTPUT.match(origin)
    if not found:
        return
    if found[1] not in files.files:
        report.error(where, f"{found[1]} does not exist")
        return
    text = files.text(found[1])
    wanted = part_of(text, found[2]) if found[2] else text
    if wanted is None:
        report.error(where, f"{found[1]} has no line `== {found[2]}`")
    elif textwrap.dedent("\n".join(block)).strip("\n") != wanted.strip("\n"):
        report.error(where, f"the block differs from {found[1]}" +
                     (f" [{found[2]}]" if found[2] else ""))


def check_links(files, report, name, number, line):
    folder = (files.root / name).parent
    for target in LINK.findall(line):
        if not re.match(r"[a-z]+:", target) and not (folder / target).exists():
            report.error(f"{name}:{number}", f"the link to {target} leads nowhere")


class Commands:
    """The commands of tools/go and the options of CMake."""

    def __init__(self, files):
        door = files.text("tools/go") if "tools/go" in files.files else ""
        self.known = set(re.findall(r"^  ([a-z]+)(?: \||\))", door, re.MULTILINE))
        for name in files.files:
            if name.endswith(("CMakeLists.txt", ".cmake")):
                self.known.update(re.findall(r"BELFRY_\w+", files.text(name)))

    def check(self, report, where, line):
        for command, option in COMMAND.findall(line):
            if command and command not in self.known:
                report.error(where, f"tools/go has no command '{command}'")
            if option and option not in self.known:
                report.error(where, f"CMake has no option {option}")


def check_page(files, report, commands, name):
    block, language, origin, previous = None, "", "", ""
    for number, line in enumerate(files.text(name).splitlines(), 1):
        commands.check(report, f"{name}:{number}", line)
        if block is not None:
            if line.strip() == "```":
                look = check_output if language == "text" else check_block
                look(files, report, f"{name}:{number}", origin, block)
                block = None
            else:
                block.append(line)
        elif FENCE.match(line):
            block, language, origin = [], FENCE.match(line)[1], previous
        else:
            check_links(files, report, name, number, line)
        if line.strip():
            previous = line.strip()


CODES = re.compile(r"^### (BF-\d+) (\w+)\n\n(?!Reserved)", re.MULTILINE)
FIRST_THINGS = re.compile(r"^\| \[(BF-\d+)\]\(errors\.md#([\w-]+)\) \|", re.MULTILINE)


def check_first_things(files, report, errors="docs/errors.md", page="docs/debugging.md"):
    """Requires a row of the table of first things for each code that is thrown, with its link."""
    if page not in files.files or errors not in files.files:
        return
    wanted = [(code, f"{code}-{name}".lower()) for code, name in CODES.findall(files.text(errors))]
    found = FIRST_THINGS.findall(files.text(page))
    for code, anchor in wanted:
        if (code, anchor) not in found:
            report.error(page, f"the table of first things has no row [{code}](errors.md#{anchor})")
    for code, anchor in found:
        if (code, anchor) not in wanted:
            report.error(page, f"{errors} has no code {code} under #{anchor}")


def check(files, report):
    check_first_things(files, report)
    commands = Commands(files)
    for name in files.files:
        if name.endswith(".md"):
            check_page(files, report, commands, name)


if __name__ == "__main__":
    tree.main(check, "docs")
