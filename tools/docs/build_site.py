#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Builds the site of pages and reference in build/docs/html.

Fails if a public name has no comment, if Doxygen warns, as it does about a link that leads nowhere,
or if a public header belongs to no group of docs/data/reference_groups.txt or to several groups.
"""

import pathlib
import re
import shutil
import subprocess
import sys

import headers
import pages  # Finds the readers of tools/checks, too.

import cpp
import tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMESPACES = {
    "belfry": "The library.",
    "belfry::sim": "The simulator.",
    "belfry::cuda": "CUDA and NCCL.",
    "belfry::mpi": "Groups of the processes of MPI.",
    "belfry::element": "Arithmetic on one element, for kernels of hosts and GPUs.",
    "belfry::testing": "Help for tests.",
    "belfry::tower": "The names of older systems.",
}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def group_faults(names, groups):
    """Returns a line for each header that belongs to no group or to several."""
    found = {name: headers.group_of(name, groups) for name in names}
    return [f"docs/data/reference_groups.txt: {name} belongs to {' and '.join(of) or 'no group'}"
            for name, of in found.items() if len(of) != 1]


def groups_page(groups):
    """Returns the definitions of groups and namespaces."""
    parts = [f"/** @defgroup group_{name} {title}\n * {about} */"
             for name, title, about, _ in groups]
    parts += [f"/** @namespace {name}\n * {about} */" for name, about in NAMESPACES.items()]
    return "\n".join(parts) + "\n"


def menu(layout, listed):
    """Returns the layout with an entry for each page."""
    entries = "\n".join(
        f'      <tab type="user" url="@ref {pages.label_of(path)}" title="{title}"/>'
        for path, title in listed)
    return layout.replace("      <!-- pages -->", entries)


def public_headers(files):
    """Returns {name in an include: name of the file} of all headers of the reference."""
    found = filter(None, map(cpp.PUBLIC.match, files.files))
    return {header[1]: header[0] for header in found if cpp.is_shown(header[1])}


def convert(files, build):
    """Writes the input of Doxygen. Returns the faults of groups."""
    texts = pages.read_pages(files)
    citations = pages.citations_of(texts)
    groups = headers.read_groups(files.text("docs/data/reference_groups.txt"))
    public = public_headers(files)
    faults = group_faults(public, groups)
    if faults:
        return faults
    shutil.rmtree(build, ignore_errors=True)
    for page in texts:
        write(build / "input" / page, pages.convert(page, texts, citations))
    for name, path in public.items():
        header = headers.Header(name, files.text(path), headers.group_of(name, groups)[0],
                                citations)
        write(build / "input" / name, header.converted())
    write(build / "input/groups.dox", groups_page(groups))
    layout = files.text("tools/docs/layout.xml")
    write(build / "layout.xml", menu(layout, pages.listed_pages(texts)))
    return []


def run_doxygen(files, build):
    """Runs Doxygen. Returns whether it succeeded; prints warnings with the paths of the sources."""
    version = re.search(r"project\(belfry VERSION (\S+)", files.text("CMakeLists.txt"))[1]
    settings = files.text("tools/docs/Doxyfile")
    run = subprocess.run(["doxygen", "-"], cwd=files.root, text=True, capture_output=True,
                         input=f"{settings}PROJECT_NUMBER = {version}\n")
    public = public_headers(files)
    for line in (run.stdout + run.stderr).splitlines():
        path, colon, rest = line.removeprefix(f"{build}/input/").partition(":")
        print(f"{public.get(path, path)}{colon}{rest}")
    return run.returncode == 0


def main():
    files, build = tree.Tree(ROOT), ROOT / "build/docs"
    faults = convert(files, build)
    for fault in faults:
        print(fault)
    if faults or not run_doxygen(files, build):
        return 1
    print(f"the site: {(build / 'html/index.html').relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
