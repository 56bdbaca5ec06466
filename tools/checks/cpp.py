# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""A rough reader of C++ in the layout of clang-format: includes, tests, declarations."""

import dataclasses
import re

from tree import line_of

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/            # comments
      |R"(?P<tag>[^()\s]{0,16})\(.*?\)(?P=tag)"   # raw strings
      |"(?:\\.|[^"\\\n])*"            # strings
      |(?<![\w])'(?:\\.|[^'\\\n])+'   # characters, but not digit separators
    """, re.DOTALL | re.VERBOSE)
# Directives may hold unbalanced braces.
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
# A header for users, with its name in an include.
PUBLIC = re.compile(r"(?:core|core/extras/\w+|backends/\w+|backends/\w+/driver|proptests)/include/"
                    r"(.+\.h)$")
# Parts of classes that lie in detail and have public functions.
SHOWN_DETAIL = ("belfry/detail/assign_verbs.h", "belfry/detail/axis_verbs.h",
                "belfry/detail/destination_verbs.h", "belfry/detail/strategy_verbs.h")

TEST_HEAD = re.compile(r"^(?:(?:TYPED_)?TEST(?:_F|_P)?|RC_GTEST(?:_FIXTURE)?_PROP)\(\s*(\w+),"
                       r"\s*(\w+)", re.MULTILINE)
# The body of a test ends with a brace at the beginning of a line, or in the line of its head.
TEST_END = re.compile(r"^\}|^(?:TYPED_)?TEST[^\n]*\}$", re.MULTILINE)
SECTION = re.compile(r"^#ifdef (\w+)$", re.MULTILINE)

SCOPE = re.compile(r"(?:inline )?(?:(namespace|extern$)|(class|struct|union|enum class|enum)\b)"
                   r" ?(?:alignas\(\w+\) )?([\w:]*)")
CALL = re.compile(r"(operator\s*[^\s\w(]{1,3}|[~\w:]+)\s*\((?:\)\s*\()?")
NO_FUNCTION = re.compile(r"(?:using|friend|static_assert|typedef|concept)\b|"
                         r"(?!.*\boperator).*(?<![=!<>])=(?!=)")
TEMPLATE = re.compile(r"\btemplate\s*<[^{}]*?>\s*(?=\w)")
ATTRIBUTE = re.compile(r"\[\[[^\]]*\]\] ?")
# Bodies without declarations.
CLOSED = ("function", "enum", "enum class")
ACCESS = re.compile(r"\b(public|protected|private)\s*:(?!:)")


def blank_out(text):
    """Replaces comments, literals and directives by blanks, keeping line breaks and length."""
    def blanks(found):
        return re.sub(r"[^\n]", " ", found[0])
    return DIRECTIVE.sub(blanks, TOKEN.sub(blanks, text))


def includes(text):
    """Yields (line, name) of each file that is included."""
    for number, line in enumerate(text.splitlines(), 1):
        if found := INCLUDE.match(line):
            yield number, found[1]


def is_shown(header):
    """Says whether a header, by its name in an include, has public names."""
    parts = header.split("/")
    return "detail" not in parts or len(parts) > 3 or header in SHOWN_DETAIL


def tests(text):
    """Returns {(suite, test): body} of the tests of a source, without comments."""
    text, found = COMMENT.sub("", text), {}
    for head in TEST_HEAD.finditer(text):
        end = TEST_END.search(text, head.start())
        found[head.groups()] = text[head.start():end.end() if end else len(text)]
    return found


def tests_of(files, folder=""):
    """Returns {"Suite.Test"} of the sources in a folder."""
    return {f"{suite}.{test}" for name in files.code() if name.startswith(folder)
            for suite, test in TEST_HEAD.findall(files.text(name))}


@dataclasses.dataclass
class Declaration:
    """A declaration in a namespace or a class, without comments and literals.

    head    the text to the `;` or to the brace of the body, without `template <...>` and attributes
    line    where the head begins
    spaces  the namespaces around, "belfry::sim"
    owner   the class around, or nothing
    kind    class, struct, union, enum, enum class, function, or nothing
    body    the text between the braces, or None
    lines   of head and body
    """
    head: str
    line: int
    spaces: str
    owner: str
    public: bool
    kind: str
    name: str
    body: str = None
    lines: int = 0

    def parameters(self):
        """Returns the number of a function's parameters."""
        found = parameters_in(self.head)
        depth, commas, end = 0, 0, found.end()
        while end < len(self.head) and depth >= 0:
            depth += (self.head[end] in "([{<") - (self.head[end] in ")]}>")
            commas += self.head[end] == "," and depth == 0
            end += 1
        return commas + 1 if self.head[found.end():end - 1].strip() not in ("", "void") else 0


def parameters_in(head):
    """Returns the match of a function's name and of the brace before its parameters, or None."""
    return next((found for found in CALL.finditer(head)
                 if found[1] not in ("requires", "decltype", "explicit")), None)


def kind_and_name(head):
    """Returns what a head declares: its kind and its name."""
    scope, function = SCOPE.match(head), parameters_in(head)
    # A function may return a `struct tm`.
    if scope and not (function and scope[2] and scope.end() < function.start(1)):
        return scope[1] or scope[2], scope[3]
    if function and not NO_FUNCTION.match(head[:function.end()]):
        return "function", function[1]
    return "", ""


class Reader:
    """Finds the declarations of a text, outside of the bodies of functions.

    A head goes from the declaration before to a `;` or to the brace of a body. `open` has the
    declaration and the begin of the body for each open brace; the declaration is None in bodies of
    functions, and in values and requirements, which are parts of a head. `public` has the access of
    each open class.
    """

    def __init__(self, text):
        self.text = blank_out(text)
        self.head, self.open, self.public = 0, [], [True]

    def declarations(self):
        """Yields the declarations; those with a body after their members."""
        for found in re.finditer(r"[{};]", self.text):
            at = found.start()
            if found[0] == "{":
                self.enter(at)
            elif found[0] == "}" and self.open:
                yield from self.leave(at)
            elif found[0] == ";" and not self.is_inside():
                if self.text[self.head:at].strip():
                    yield self.declaration(at)
                self.head = at + 1

    def enter(self, at):
        is_part = self.is_inside() or self.is_value(self.text[self.head:at])
        declared = None if is_part else self.declaration(at)
        if declared and not declared.kind:  # The body of a lambda.
            declared = None
        self.open.append((declared, at + 1))
        if declared:
            self.head = at + 1
            self.public.append(declared.kind != "class")

    def leave(self, at):
        declared, begin = self.open.pop()
        if declared:
            declared.body = self.text[begin:at]
            declared.lines = line_of(self.text, at) + 1 - declared.line
            self.head = at + 1
            self.public.pop()
            yield declared

    def is_inside(self):
        """Says whether the place is inside of a function, an enumeration or a value."""
        return bool(self.open) and (self.open[-1][0] is None or self.open[-1][0].kind in CLOSED)

    @staticmethod
    def is_value(head):
        """Says whether a brace behind the head begins a value or a requirement."""
        ends = re.search(r"=\s*$|\brequires\s*(\([^()]*\)\s*)?$", head)
        return (not head[-1:].isspace() or ends is not None
                or head.count("(") > head.count(")"))

    def declaration(self, at):
        """Returns the declaration with a head that ends at a place."""
        labels = list(ACCESS.finditer(self.text, self.head, at))
        if labels:
            self.head, self.public[-1] = labels[-1].end(), labels[-1][1] == "public"
        head = self.text[self.head:at]
        line = line_of(self.text, at - len(head.lstrip()))
        head = TEMPLATE.sub("", ATTRIBUTE.sub("", " ".join(head.split())))
        around = [declared for declared, _ in self.open]
        spaces = [each.name for each in around if each.kind == "namespace" and each.name]
        owner = next((each.name for each in around[::-1] if each.kind != "namespace"), "")
        return Declaration(head, line, "::".join(spaces), owner, self.public[-1],
                           *kind_and_name(head))


def declarations(text):
    """Yields the declarations of a text, outside of the bodies of functions."""
    yield from Reader(text).declarations()
