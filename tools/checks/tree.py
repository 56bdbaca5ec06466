# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""What the checks share: the files of the project, and how findings are reported."""

import argparse
import pathlib
import re
import subprocess
import sys

CODE_SUFFIXES = {".h", ".hpp", ".cpp", ".cu", ".cuh"}
# The contract with users is kept as it was given: the style of the house does not hold there.
VERBATIM = "proptests/programs/"
IGNORED_FOLDERS = {".git", "build", "out", ".cache", "__pycache__"}


class Tree:
    """The project's files: what git tracks or, outside a repository, what lies there."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.files = sorted(self._tracked() or self._walk())

    def _tracked(self):
        if not (self.root / ".git").exists():
            return []
        listing = subprocess.run(["git", "ls-files", "-z"], cwd=self.root, capture_output=True)
        names = listing.stdout.decode().split("\0") if listing.returncode == 0 else []
        return [name for name in names if name and (self.root / name).is_file()]

    def _walk(self):
        for path in self.root.rglob("*"):
            relative = path.relative_to(self.root)
            if path.is_file() and not IGNORED_FOLDERS & set(relative.parts):
                yield relative.as_posix()

    def text(self, name):
        """Returns the text of a file, or nothing where it is not text."""
        try:
            return (self.root / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            return ""

    def code(self):
        """Returns the names of the C++ and CUDA files."""
        return [name for name in self.files if pathlib.PurePath(name).suffix in CODE_SUFFIXES]


def is_verbatim(name):
    """Says whether a file is kept as it is, whatever the style of the house."""
    return name.startswith(VERBATIM)


def is_test(name):
    """Says whether a file is test code, which has wider budgets and may see more."""
    return (bool(re.search(r"_(test|bench|fuzz|props)\.(cpp|h)$", name))
            or re.match(r"(proptests|tools)/", name) is not None
            or "/testing/" in name or "/compile_fail/" in name)


class Report:
    """Collects findings and turns them into the exit status of a check."""

    def __init__(self):
        self.errors = []
        self.warnings = []

    def error(self, where, what):
        self.errors.append(f"{where}: {what}")

    def warn(self, where, what):
        self.warnings.append(f"{where}: {what}")

    def finish(self, checked):
        for line in self.warnings:
            print(f"warning: {line}")
        for line in self.errors:
            print(f"error: {line}")
        print(f"{checked}: {len(self.errors)} errors, {len(self.warnings)} warnings")
        return 1 if self.errors else 0


def main(check, checked):
    """Runs check(tree, report) on the tree given by --root."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    tree = Tree(parser.parse_args().root)
    report = Report()
    check(tree, report)
    sys.exit(report.finish(f"{checked}, {len(tree.files)} files"))
