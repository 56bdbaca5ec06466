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

import posixpath
import re
import textwrap

import page
import rules

ORIGIN = re.compile(r"^<!-- (snippet|output): (\S+)(?: \[([\w-]+)\])? -->$")
NOT_COMPILED = re.compile(r"^<!-- not compiled: \S.* -->$")
COMMAND = re.compile(r"tools/go ([a-z]+)|-D(BELFRY_\w+)")
DEBUGGING = "docs/debugging.md"


class Fault(Exception):
    """What is wrong with a block."""


def region(text, name):
    """Returns the lines between the two markers of a region, without common indentation."""
    parts = re.split(rf"^[ \t]*(?://|#) \[{name}\][ \t]*\n", text, flags=re.MULTILINE)
    return textwrap.dedent(parts[1]) if len(parts) == 3 else None


def part_of(text, name):
    """Returns the lines of an expected output that belong to a name."""
    parts = re.split(r"^== ([\w-]+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2])).get(name)


def is_compiled(files, name):
    """Says whether a CMakeLists.txt in the file's folder or above it lists the file.

    A CMakeLists.txt of a project is listed, by its folder, above the folder or by the consumers.
    """
    folder, base = posixpath.split(name)
    above, project = posixpath.split(folder)
    lists, stem = [folder, above], base.rpartition(".")[0]
    if base == "CMakeLists.txt":
        lists, stem = [above, "tools/consumers"], project
    return any(re.search(rf"\b{re.escape(stem)}\b", files.text(f"{path}/CMakeLists.txt"))
               for path in lists)


def wanted(files, block):
    """Returns what a block must repeat, or None if it repeats nothing. Throws Fault."""
    found = ORIGIN.match(block.origin)
    kind = {"cpp": "snippet", "cmake": "snippet", "text": "output"}.get(block.language)
    if not found or found[1] != kind:
        if kind == "snippet" and not NOT_COMPILED.match(block.origin):
            raise Fault("the block above has no `<!-- snippet: file [name] -->` before it")
        return None
    _, name, part = found.groups()
    if name not in files.files:
        raise Fault(f"{name} does not exist")
    if kind == "snippet" and not is_compiled(files, name):
        raise Fault(f"{name} is in no CMakeLists.txt, so it is not compiled")
    text = files.text(name)
    if part or kind == "snippet":
        text = (region if kind == "snippet" else part_of)(text, part)
    if text is None:
        raise Fault(f"{name} has no part [{part}]")
    return text.strip("\n")


def commands_of(files):
    """Returns the commands of tools/go and the options of CMake."""
    known = set(re.findall(r"^  ([a-z]+)(?: \||\))", files.text("tools/go"), re.MULTILINE))
    return known.union(*(re.findall(r"BELFRY_\w+", text) for text in files.cmake().values()))


def anchors_of(files, name, cache):
    if name not in cache:
        cache[name] = {anchor for *_, anchor in page.Page(files.text(name)).headings()}
    return cache[name]


def check_links(files, report, name, shown, anchors):
    for number, link in shown.links():
        path, _, anchor = link.partition("#")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
        known = any(each == target or each.startswith(f"{target}/") for each in files.files)
        if re.match(r"[a-z]+:", link):
            continue
        if not known or (target.endswith(".md") and anchor
                         and anchor not in anchors_of(files, target, anchors)):
            report.error(f"{name}:{number}", f"the link to {link} leads nowhere")


def check_first_things(files, report):
    """Requires a row of the table of first things for each code that is thrown, with its link."""
    thrown = {heading for heading, text in rules.sections_of(files)
              if not text.lstrip().startswith("Reserved")}
    links = {f"[{heading[:6]}](errors.md#{page.anchor_of(heading)})" for heading in thrown}
    found = {cells[0] for _, cells in page.Page(files.text(DEBUGGING)).rows()
             if cells[0].startswith("[BF-")}
    for link in sorted(links - found) if DEBUGGING in files.files else ():
        report.error(DEBUGGING, f"the table of first things has no row {link}")
    for link in sorted(found - links):
        report.error(DEBUGGING, f"{rules.ERRORS} has no code that is thrown for {link}")


def check(files, report):
    check_first_things(files, report)
    known, anchors = commands_of(files), {}
    for name in files.pages():
        shown = page.Page(files.text(name))
        check_links(files, report, name, shown, anchors)
        for number, line in files.lines(name):
            for command, option in COMMAND.findall(line):
                if (command or option) not in known:
                    report.error(f"{name}:{number}", f"tools/go has no command '{command}'"
                                 if command else f"CMake has no option {option}")
        for block in shown.blocks:
            try:
                text = wanted(files, block)
                if text not in (None, block.text):
                    raise Fault(f"the block differs from {block.origin[5:-4]}")
            except Fault as fault:
                report.error(f"{name}:{block.last}", str(fault))


def write(files):
    """Makes the blocks of pages what they must repeat."""
    for name in files.pages():
        lines = files.text(name).split("\n")
        for block in reversed(page.Page(files.text(name)).blocks):
            try:
                text = wanted(files, block)
            except Fault:
                continue
            if text not in (None, block.text):
                lines[block.first:block.last - 1] = text.split("\n")
                (files.root / name).write_text("\n".join(lines), encoding="utf-8")
                print(f"{name}:{block.first}: refreshed")
