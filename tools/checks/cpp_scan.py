# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""A rough scanner of C++: good enough to find functions and interfaces and to count their lines."""

import re

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/            # comments
      |R"(?P<tag>[^()\s]{0,16})\(.*?\)(?P=tag)"   # raw strings
      |"(?:\\.|[^"\\\n])*"            # strings
      |(?<![\w])'(?:\\.|[^'\\\n])+'   # characters, but not digit separators
    """, re.DOTALL | re.VERBOSE)

CONTROL = re.compile(r"\b(if|for|while|switch|catch|do|else|try)\b")
TYPE = re.compile(r"\b(class|struct|union|enum|namespace|extern|concept)\b")


def blank_out(text):
    """Replaces comments and literals by blanks, keeping line breaks and length."""
    text = TOKEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    # Directives may hold unbalanced braces.
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda found: re.sub(r"[^\n]", " ", found[0]), text,
                  flags=re.MULTILINE)


def is_function(head):
    """Says whether the text before a brace at class or namespace level heads a function."""
    head = re.sub(r"\btemplate\s*<[^{}]*?>\s*(?=\w)", "", head)
    return "(" in head and not TYPE.match(head.strip()) and not re.search(r"=\s*$", head)


def name_and_parameters(head):
    """Returns a function's name and the number of its parameters."""
    opening = next((found for found in re.finditer(r"([~\w:]+)\s*\((?:\)\s*\()?", head)
                    if found[1] != "requires"), None)
    if opening is None:
        return "?", 0
    depth, commas, end = 0, 0, opening.end()
    while end < len(head) and depth >= 0:
        depth += (head[end] in "([{<") - (head[end] in ")]}>")
        commas += head[end] == "," and depth == 0
        end += 1
    inside = head[opening.end():end - 1].strip()
    return opening[1], commas + 1 if inside not in ("", "void") else 0


def functions(text):
    """Yields (name, first line, number of lines, number of parameters) of each outermost function
    that is defined.
    """
    text = blank_out(text)
    inside = []  # For each open brace: the start of the function it began, or None.
    head_start = 0
    for found in re.finditer(r"[{};]", text):
        brace = found[0]
        if brace == "{":
            head = text[head_start:found.start()]
            nested = any(start is not None for start in inside)
            start = None
            if not nested and is_function(head):
                start = (head, head_start + len(head) - len(head.lstrip()))
            inside.append(start)
        elif brace == "}" and inside:
            start = inside.pop()
            if start is not None:
                first = text.count("\n", 0, start[1]) + 1
                last = text.count("\n", 0, found.start()) + 1
                name, parameters = name_and_parameters(start[0])
                yield name, first, last - first + 1, parameters
        head_start = found.end()


def interfaces(text):
    """Yields (name, line, number of pure virtual functions) of each class that has some."""
    text = blank_out(text)
    for found in re.finditer(r"\b(?:class|struct)\s+(\w+)[^;{}()]*\{", text):
        depth, end = 1, found.end()
        while end < len(text) and depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        pure = len(re.findall(r"\)[^;{}]*=\s*0\s*;", text[found.end():end]))
        if pure:
            yield found[1], text.count("\n", 0, found.start()) + 1, pure
