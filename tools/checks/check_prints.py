# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that every value type of the public headers prints.

Value types are the enumerations, the structures, and the classes that can be copied. A type prints
if the headers of the library declare `to_string` of the type, `operator<<` or, for arguments of
properties, `showValue`. A header of a namespace below belfry needs `using belfry::operator<<` for
`to_string`, and the header of a template `kPrints`. The list not_printed.txt names the other types,
with reasons.
"""

import re

import cpp

LIST = "tools/checks/not_printed.txt"
BELOW = ("sim::", "cuda::", "testing::", "files::")
UNCHECKED = "belfry/backend/"  # Authors of backends print no values.
NOT_COPIED = re.compile(r"= delete;|\bvirtual\b|\boverride\b|std::unique_ptr<[^;]*_;")
PRINTS = re.compile(r"friend std::ostream& operator<<\(std::ostream& \w+, const (\w+)|"
                    r"void showValue\(const (\w+)& ")
TO_STRING = re.compile(r"to_string\((?:const )?(?:\w+::)*(\w+)")
USING = re.compile(r"^using belfry::operator<<;$", re.MULTILINE)
ENTRY = re.compile(r"^([\w:]+): .+$")


def values_of(text):
    """Returns [(line, name)] of the value types; names have namespaces but the first."""
    found = []
    for declared in cpp.declarations(text):
        spaces = declared.spaces.split("::")
        if (declared.kind in ("class", "struct", "enum class") and declared.body is not None
                and not declared.owner and spaces[0] == "belfry" and "detail" not in spaces
                and re.search(rf"\b{declared.name}( final)?( :|$)", declared.head)):
            # A child of a class is no value; enumerations have a type behind the colon.
            is_child = " : " in declared.head and declared.kind != "enum class"
            is_copied = declared.kind != "class" or not NOT_COPIED.search(declared.body)
            if is_copied and not is_child:
                found.append((declared.line, "::".join([*spaces[1:], declared.name])))
    return found


def entries_of(files, report):
    """Returns {type: line} of the list."""
    found = {}
    for number, line in files.lines(LIST):
        if entry := ENTRY.match(line):
            found[entry[1]] = number
        elif line and not line.startswith("#"):
            report.error(f"{LIST}:{number}", "an entry is `type: reason`")
    return found


def check(files, report):
    texts = {name: files.text(name) for name in files.files if cpp.PUBLIC.match(name)}
    whole = "\n".join(texts.values())
    worded = set(TO_STRING.findall(whole))
    printed = worded | {name for names in PRINTS.findall(whole) for name in names}
    listed = entries_of(files, report)
    unused = dict(listed)
    for path, text in texts.items():
        header = cpp.PUBLIC.match(path)[1]
        is_checked = cpp.is_shown(header) and not header.startswith(UNCHECKED)
        for number, name in values_of(text) if is_checked else ():
            is_listed, last = unused.pop(name, None) is not None, name.split("::")[-1]
            if not is_listed and last not in printed:
                report.error(f"{path}:{number}", f"{name} has no operator<<: declare to_string, or "
                             f"list the type in {LIST} with the reason")
            if name.startswith(BELOW) and last in worded and not USING.search(text):
                report.error(f"{path}:{number}", f"{name} needs `using belfry::operator<<;`")
    for name, number in unused.items():
        report.error(f"{LIST}:{number}", f"no public header has the value type {name}")
