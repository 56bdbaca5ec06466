#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the files that two calls run through with the tables of docs/ARCHITECTURE.md.

`two_calls` is built without optimization, so that every function is called and no file is lost by
inlining. Callgrind lists the functions of the second call with their files. Files of the standard
library and of the program itself do not count.

In the page a list begins with `<!-- files of a call: number -->` and ends with
`<!-- end of files -->`. Each path in backquotes is a file: whole, or a name beside the latest whole
path.

usage: check_calls.py TWO_CALLS
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = "docs/ARCHITECTURE.md"
KINDS = ("number", "tensor")
FOLDERS = ("core/", "backends/")
# The file of a function, of its inlined parts, and of a called function, which may never run.
POSITION = re.compile(r"^(fl|fi|fe|cfi|cfl)=\((\d+)\)(?: (.*))?$", re.MULTILINE)


def files_of(profile):
    """Returns the files of the project with functions that ran, from callgrind's output.

    A name follows its number where the number first occurs.
    """
    names, ran = {}, set()
    for what, number, name in POSITION.findall(profile):
        if name:
            names[number] = pathlib.Path(name).resolve()
        if what in ("fl", "fi", "fe"):
            ran.add(number)
    own = {names[number].relative_to(ROOT).as_posix() for number in ran
           if names[number].is_relative_to(ROOT)}
    return {name for name in own if name.startswith(FOLDERS)}


def profile_of(program, kind):
    """Returns callgrind's output for one kind of call."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "profile"
        subprocess.run(["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no",
                        f"--callgrind-out-file={out}", program, kind], check=True)
        return out.read_text()


def listed_files(page, kind):
    """Returns the files of a list of the page, in order."""
    match = re.search(rf"<!-- files of a call: {kind} -->\n(.*?)<!-- end of files -->", page,
                      re.DOTALL)
    if match is None:
        sys.exit(f"{PAGE} has no list of the files of a call: {kind}")
    listed, folder = [], ""
    for name in re.findall(r"`([\w./]+\.(?:h|cpp|inl))`", match.group(1)):
        if "/" in name:
            folder = name.rpartition("/")[0]
        else:
            name = f"{folder}/{name}"
        listed.append(name)
    return listed


def differences(listed, ran):
    """Returns a line for each file that only one side has."""
    return ([f"{name} runs, and the list omits it" for name in sorted(ran - set(listed))] +
            [f"{name} is listed, and does not run" for name in listed if name not in ran])


def main():
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    lines = [f"{PAGE}: a call with a {kind}: {line}" for kind in KINDS
             for line in differences(listed_files(page, kind),
                                     files_of(profile_of(sys.argv[1], kind)))]
    print(*lines, f"calls: {len(lines)} errors", sep="\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
