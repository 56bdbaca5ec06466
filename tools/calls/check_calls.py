#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the files that two calls run through with the tables of docs/ARCHITECTURE.md.

`two_calls` is built without optimization, so that every function is called and no file is lost by
inlining. Callgrind lists the functions of the second call with their files. Files of the standard
library and of the program itself do not count.

In the page a list begins with `<!-- files of a call: number -->` and ends with
`<!-- end of files -->`. Each path in backquotes is a file: whole, or a name beside the latest whole
path. `--list` prints the files and their functions.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = "docs/ARCHITECTURE.md"
KINDS = ("number", "tensor")
FOLDERS = ("core/", "backends/")
POSITION = re.compile(r"(fl|fi|fe|fn|cfi|cfl|cfn)=\((\d+)\)(?: (.*))?$")


def own_name(path):
    """Returns the path from the root of a file of the project, else None."""
    try:
        name = pathlib.Path(path).resolve().relative_to(ROOT).as_posix()
    except ValueError:
        return None
    return name if name.startswith(FOLDERS) else None


def functions_by_file(profile):
    """Returns {file of the project: names of its functions that ran} from callgrind's output.

    A name follows its number where the number first occurs. `fl` names the file of a function, `fi`
    and `fe` change the file within the function; `cfi`, `cfl` and `cfn` concern called functions.
    """
    files, functions, ran = {}, {}, {}
    current_file = current_function = None
    for line in profile.splitlines():
        match = POSITION.match(line)
        if not match:
            continue
        what, number, name = match.groups()
        names = functions if what in ("fn", "cfn") else files
        if name is not None:
            names[number] = name
        if what in ("fl", "fi", "fe"):
            current_file = number
        elif what == "fn":
            current_function = number
        if what in ("fn", "fi", "fe"):
            ran.setdefault(current_file, set()).add(current_function)
    named = {}
    for number, those in ran.items():
        name = own_name(files[number])
        if name is not None:
            named.setdefault(name, set()).update(functions[f] for f in those if f is not None)
    return named


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, type=pathlib.Path, help="two_calls, built -O0")
    parser.add_argument("--list", action="store_true", help="print files and functions")
    options = parser.parse_args()
    page = (ROOT / PAGE).read_text()
    errors = 0
    for kind in KINDS:
        ran = functions_by_file(profile_of(options.program.resolve(), kind))
        print(f"{kind}: {len(ran)} files")
        if options.list:
            for name in sorted(ran):
                print("\n    ".join([name, *sorted(ran[name])]))
            continue
        for line in differences(listed_files(page, kind), set(ran)):
            print(f"{PAGE}: a call with a {kind}: {line}")
            errors += 1
    print(f"calls: {errors} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
