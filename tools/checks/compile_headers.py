#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles public headers alone: the changed headers, or all with --all.

A header is changed if it differs from the place where the branch left its upstream branch, or is
not committed yet. On the upstream branch itself, and without an upstream branch, the last commit
and the files that are not committed count. Headers that include a changed header do not count. All
headers are compiled if git cannot tell.

CMake writes a source for each public header. The commands that compile these sources are in the
file compile_commands.json of a configured build.

usage: compile_headers.py --build FOLDER [--root FOLDER] [--all]
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

SOURCE = re.compile(r"_verify_interface_header_sets/(.+)\.cxx$")
PUBLIC = re.compile(r"(?:^|/)include/(belfry/.+)$")


def git(root, *arguments):
    """Returns the lines that git prints, or None if git fails."""
    try:
        run = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return run.stdout.splitlines() if run.returncode == 0 else None


def base_of(root):
    """Returns the commit to compare with, or None if there is none."""
    folder = git(root, "rev-parse", "--show-toplevel")
    if not folder or pathlib.Path(folder[0]).resolve() != pathlib.Path(root).resolve():
        return None
    head = git(root, "rev-parse", "HEAD")
    base = git(root, "merge-base", "HEAD", "@{upstream}")
    if not base or base == head:
        base = git(root, "rev-parse", "--verify", "--quiet", "HEAD~1")
    return base[0] if base else None


def changed_headers(root):
    """Returns the changed public headers as they are included, or None if git cannot tell."""
    base = base_of(root)
    changed = git(root, "diff", "--name-only", base) if base else None
    unknown = git(root, "ls-files", "--others", "--exclude-standard")
    if changed is None or unknown is None:
        return None
    return {found[1] for name in [*changed, *unknown] if (found := PUBLIC.search(name))}


def commands_of(build):
    """Returns {header: (folder, command)} of the headers that CMake knows."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        found = SOURCE.search(entry["file"])
        if found:
            command = shlex.split(entry["command"])
            output = command.index("-o")
            del command[output:output + 2]
            command[command.index("-c")] = "-fsyntax-only"
            commands[found[1]] = (entry["directory"], command)
    return commands


def compile_header(command):
    folder, words = command
    run = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True)
    return run.stdout if run.returncode else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args()
    commands = commands_of(given.build)
    if not commands:
        sys.exit(f"{given.build} has no sources for headers")
    changed = None if given.all else changed_headers(given.root)
    chosen = sorted(commands if changed is None else commands.keys() & changed)
    for header in sorted((changed or set()) - commands.keys()):
        print(f"{header}: deleted, or of a library that this build does not have")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(compile_header, (commands[header] for header in chosen)))
    failures = {header: why for header, why in zip(chosen, results) if why is not None}
    for header, why in failures.items():
        print(f"{header} does not compile alone:\n{why}")
    which = "all" if changed is None else "changed"
    print(f"{len(chosen)} of {len(commands)} headers compiled ({which}), {len(failures)} fail")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
