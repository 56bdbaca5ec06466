#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that every value type of the public headers prints.

Value types are the enumerations, the structures, and the classes that can be copied. A type prints
if the headers of the library declare `kPrints` for the type, `operator<<` or, for arguments of
properties, `showValue`. `kPrints` needs a `to_string` of the type, and in the namespaces below
belfry `using belfry::operator<<`. The list not_printed.txt names the other types, with reasons.
"""

import itertools
import pathlib
import re
import sys

import tree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "docs"))
import headers

LIST = "tools/checks/not_printed.txt"
PUBLIC = re.compile(r"(?:core|core/extras/\w+|backends/\w+|backends/\w+/driver|proptests)/include/"
                    r"(.+\.h)$")
# Authors of backends print no values.
UNCHECKED = re.compile(r"belfry/backend/")
NAMESPACE = re.compile(r"^(?:namespace ([\w:]+) \{|\}  // namespace ([\w:]+))$")
TYPE = re.compile(r"^(?:enum class|struct|class) (?:\[\[\w+\]\] )?(\w+)(?: final)?( : [^;{]*)? \{")
NOT_COPIED = re.compile(r"= delete;|\bvirtual\b|\boverride\b|std::unique_ptr<[^;]*_;")
OF_ONE_TYPE = re.compile(r"kPrints<(?:\w+::)*(\w+)> = true;")
PRINTS = (re.compile(r"kPrints<(?:\w+::)*(\w+)(?:<T>)?> = true;"),
          re.compile(r"friend std::ostream& operator<<\(std::ostream& \w+, const (\w+)"),
          re.compile(r"void showValue\(const (\w+)& "))
TO_STRING = re.compile(r"to_string\((?:const )?(?:\w+::)*(\w+)")
USING = re.compile(r"^using belfry::operator<<;$", re.MULTILINE)
ENTRY = re.compile(r"^([\w:]+): .+$")


def types_of(text):
    """Returns (line, name) of each value type, with namespaces but the first."""
    found, spaces = [], []
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        namespace = NAMESPACE.match(line)
        if namespace and namespace[1]:
            spaces.append(namespace[1])
        elif namespace:
            spaces.pop()
        begun = TYPE.match(line)
        path = "::".join(spaces).split("::")
        if not begun or path[0] != "belfry" or "detail" in path:
            continue
        body = itertools.takewhile(lambda inner: inner != "};", lines[number:])
        is_class = line.startswith("class ")
        # A child of a class is no value; enumerations have a type behind the colon.
        is_child = begun[2] is not None and not line.startswith("enum")
        if not (is_child or is_class and any(map(NOT_COPIED.search, body))):
            found.append((number, "::".join([*path[1:], begun[1]])))
    return found


def is_public(name):
    found = PUBLIC.match(name)
    return found and headers.is_shown(found[1]) and not UNCHECKED.match(found[1])


def entries_of(files, report):
    """Returns {type: line} of the list."""
    found = {}
    for number, line in enumerate(files.text(LIST).splitlines(), 1):
        entry = ENTRY.match(line)
        if entry:
            found[entry[1]] = number
        elif line and not line.startswith("#"):
            report.error(f"{LIST}:{number}", "an entry is `type: reason`")
    return found


def check(files, report):
    texts = {name: files.text(name) for name in files.files if PUBLIC.match(name)}
    printed = {name for text in texts.values() for form in PRINTS for name in form.findall(text)}
    worded = {name for text in texts.values() for name in TO_STRING.findall(text)}
    listed = entries_of(files, report) if LIST in files.files else {}
    unused = dict(listed)
    for path, text in texts.items():
        for name in OF_ONE_TYPE.findall(text):
            if name not in worded:
                report.error(path, f"kPrints of {name}, which has no to_string")
        if re.search(r"kPrints<(?:sim|cuda|testing|files)::", text) and not USING.search(text):
            report.error(path, "kPrints in a namespace without `using belfry::operator<<;`")
        for number, name in types_of(text) if is_public(path) else ():
            if unused.pop(name, None) is None and name.split("::")[-1] not in printed:
                report.error(f"{path}:{number}", f"{name} has no operator<<: declare to_string and "
                             f"kPrints, or list the type in {LIST} with the reason")
    for name, number in unused.items():
        report.error(f"{LIST}:{number}", f"no public header has the value type {name}")


if __name__ == "__main__":
    tree.main(check, "printed types")
