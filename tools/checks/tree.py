# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""What the checks share: the files of the project, and how findings are reported."""

import pathlib
import re
import subprocess

CODE_SUFFIXES = (".h", ".hpp", ".cpp", ".cu", ".cuh")
# The contract with users is kept as it was given: the style of the house does not hold there.
VERBATIM = "proptests/programs/"
IGNORED_FOLDERS = {".git", "build", "out", ".cache", "__pycache__"}
SKIPPED = 77


class Tree:
    """The project's files: what git tracks or, outside a repository, what lies there."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.files = sorted(self._tracked() or self._walk())
        self.texts = {}

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
        """Returns the text of a file; nothing where there is no such file, or no text in it."""
        if name not in self.texts:
            try:
                self.texts[name] = (self.root / name).read_text(encoding="utf-8")
            except (FileNotFoundError, UnicodeDecodeError):
                self.texts[name] = ""
        return self.texts[name]

    def lines(self, name):
        """Returns (number, line) of each line of a file."""
        return enumerate(self.text(name).splitlines(), 1)

    def named(self, pattern):
        """Returns the names that begin with a regular expression."""
        return [name for name in self.files if re.match(pattern, name)]

    def code(self):
        """Returns the names of the C++ and CUDA files."""
        return [name for name in self.files if name.endswith(CODE_SUFFIXES)]

    def pages(self):
        """Returns the names of the pages of Markdown."""
        return [name for name in self.files if name.endswith(".md")]

    def cmake(self):
        """Returns {name: text without comments} of CMake's files."""
        return {name: re.sub(r"#.*", "", self.text(name)) for name in self.files
                if name.endswith(("CMakeLists.txt", ".cmake"))}


def line_of(text, place):
    """Returns the number of the line with a place in a text."""
    return text.count("\n", 0, place) + 1


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
        self.errors, self.skipped = [], ""

    def error(self, where, what):
        self.errors.append(f"{where}: {what}")

    def finish(self, checked):
        """Prints the findings, and returns the exit status: 0, 1, or 77 for a skipped check."""
        if self.skipped:
            print(f"{checked}: skipped: {self.skipped}")
            return SKIPPED
        for line in self.errors:
            print(f"error: {line}")
        print(f"{checked}: {len(self.errors)} errors")
        return 1 if self.errors else 0
