# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Converts public headers to texts for Doxygen, line for line.

The conversion keeps the headers free of commands of Doxygen:

- the first lines become the description of the file, and names join the group of the header;
- blocks of the namespace detail are left out;
- the lines `Context:`, `Order:` and `Throws:` of a comment become paragraphs;
- rule numbers and error codes become links to their pages;
- declarations that only bring names of a base class into the class are left out: the comment above
  them is that of the next declaration;
- a verb, an object of type Verb, is shown as a function;
- an overload without a comment refers to the declaration above;
- the older names refer to the table of names;
- functions that are deleted or defaulted, and inherited constructors, are left out, unless they
  have a comment; so are full specialisations, and definitions outside of their class.
"""

import fnmatch
import re

import pages

NAMESPACE = re.compile(r"^namespace (belfry(?:::\w+)*) \{$")
NAMESPACE_END = re.compile(r"^\}  // namespace belfry(?:::\w+)*$")
VERB = re.compile(r"^( *)(?:detail::)?Verb<(?:\w+, )?detail::calls::\w+> (\w+)\{.*\};$")
PARAGRAPH = re.compile(r"(?:^|(?<=[.)] ))(Context|Order, Throws|Order|Throws)(?:: |:$)")
NAMED_CODE = re.compile(r"\b(k[A-Z]\w+)\b")
IMPLICIT = re.compile(r"^ +(?!.*operator==).*= (?:delete|default);$")
EQUALITY = re.compile(r"^ +bool operator==\(const \w+&\) const = default;$")
NO_DECLARATION = re.compile(r"[}#]|(using )?namespace |(public|protected|private):|class \w+;")
INHERITED = re.compile(r"^ +using (\w+)::\1;$")
OUTSIDE = re.compile(r"^(?:class|struct) \w+(?:(?:<\w+>)?::\w+|<[\w:]+>) \{$")
BROUGHT = re.compile(r"^ +using \w+<\w+>::\w+;$")
FRIEND = re.compile(r"^ +friend \w+ \w+\(")
OLDER = '/** An older name: @ref tf_mapping "the table of names" has the name of the library. */'


def read_groups(text):
    """Returns [(name, title, description, [patterns])] of docs/data/reference_groups.txt."""
    groups = []
    for line in text.splitlines():
        begun = re.match(r"\[(\w+)\] (.*)", line)
        if begun:
            groups.append((begun[1], begun[2], [], []))
        elif line.startswith(":"):
            groups[-1][2].append(line[1:].strip())
        elif line and not line.startswith("#"):
            groups[-1][3].extend(line.split())
    return [(name, title, " ".join(about), patterns) for name, title, about, patterns in groups]


def group_of(header, groups):
    """Returns the names of the groups that list the header."""
    return [name for name, _, _, patterns in groups
            if any(fnmatch.fnmatchcase(header, pattern) for pattern in patterns)]


class Comments:
    """Converts the lines of `///` comments. Spans of code may go on in the next line."""

    def __init__(self, citations):
        self.citations, self.in_code = citations, False

    def line(self, text):
        """Converts a line of a file. Other lines than comments end the comment."""
        found = re.match(r"^( *///(?!<) ?)(.*)$", text)
        if found and found[2].startswith("    ") and not self.in_code:
            return text  # A line of code.
        if found:
            return found[1] + self.text(found[2])
        self.in_code = False
        code, mark, after = text.partition("///< ")
        return code + mark + self.text(after) if mark else text

    def text(self, text):
        pieces = text.split("`")
        for i, piece in enumerate(pieces):
            if not self.in_code:
                pieces[i] = self.prose(piece)
            if i + 1 < len(pieces):
                self.in_code = not self.in_code
        # Doxygen takes `_` for the beginning of emphasis.
        return re.sub(r"`(\W|_)`", r"<code>\1</code>", "`".join(pieces))

    def prose(self, text):
        text = text.replace("<", "&lt;").replace("@", "@@")
        text = pages.with_citations(text, self.citations)
        text = NAMED_CODE.sub(
            lambda code: (f"[{code[1]}](@ref {self.citations[code[1]]})"
                          if code[1] in self.citations else code[1]), text)
        return PARAGRAPH.sub(r"@paragraph{\1} ", text)


def name_of(lines, start):
    """Returns the name of the function declared from line `start`, or None."""
    text = " ".join(line.strip() for line in lines[start:start + 8]).partition("{")[0]
    text = re.sub(r"^(template <.*?>(?= [^>]) ?)", "", text)
    text = re.sub(r"^requires\s*(\(.*?\)|[\w<>:, ]+?(?=\b(auto|void|[A-Z]\w*<|std)))", "", text)
    found = re.search(r"(operator\s*[^\s\w(]{1,3}|[A-Za-z_]\w*)\(", text)
    return found[1] if found else None


class Header:
    """A header in conversion. Lines change, and their number stays."""

    def __init__(self, name, text, group, citations):
        self.name, self.group, self.citations = name, group, citations
        self.lines = text.rstrip("\n").split("\n")
        self.about_at = 0

    def converted(self):
        self.hide_detail()
        self.hide_outside()
        self.describe_file()
        self.document_families()
        comments = Comments(self.citations)
        return "\n".join(self.open_group([comments.line(line) for line in self.lines])) + "\n"

    def hide_detail(self):
        inside = False
        for i, line in enumerate(self.lines):
            if line == "namespace detail {":
                inside = True
            if inside:
                ended = line == "}  // namespace detail"
                self.lines[i] = ""
                inside = not ended

    def describe_file(self):
        """Finds the comment above the namespace, or above the includes: it describes the file."""
        starts = [i for i, line in enumerate(self.lines)
                  if NAMESPACE.match(line) or line.startswith("#include")]
        for start in starts:
            first = start
            while first > 0 and self.lines[first - 1].startswith("///"):
                first -= 1
            if first < start:
                self.about_at = first - 1
                return

    def open_group(self, lines):
        lines[self.about_at] = f"/// @file {self.name}"
        if self.about_at == 0:
            lines[1] = f"/// Part of the group @ref group_{self.group}."
        for i, line in enumerate(lines):
            opened = NAMESPACE.match(line)
            if opened:
                lines[i] = f"{line} /** @addtogroup group_{self.group} */ /** @{{ */"
            elif NAMESPACE_END.match(line):
                lines[i] = "/** @} */ }"
        return lines

    def hide_outside(self):
        """Hides specialisations, definitions outside of a class, friends, and names of bases."""
        for i, line in enumerate(self.lines):
            if BROUGHT.match(line):
                self.lines[i] = ""
            elif FRIEND.match(line):
                end = next(k for k in range(i, len(self.lines)) if self.lines[k].endswith(";"))
                self.lines[i:end + 1] = [""] * (end + 1 - i)
            elif OUTSIDE.match(line):
                first, last = i, self.lines.index("};", i)
                while self.lines[first - 1]:
                    first -= 1
                self.lines[first:last + 1] = [""] * (last + 1 - first)

    def document_families(self):
        """Shows verbs as functions, and gives overloads and functions of wrappers a comment."""
        documented, complete, named = False, True, {0: set(), 2: set()}
        for i, line in enumerate(self.lines):
            code = line.strip()
            if code.startswith("//"):
                documented |= code.startswith("///")
                continue
            if re.match(r"^(class|struct) ", line):
                named[2] = set()
            indent = len(line) - len(line.lstrip())
            if code and complete and indent in named and not NO_DECLARATION.match(code):
                self.declaration(i, indent, documented, named[indent])
            if code:
                complete = re.sub(r" *//.*", "", code).endswith((";", "{", "}", ":"))
            documented &= not code

    def declaration(self, i, indent, documented, named):
        """Converts the declaration that begins at a line. `named` has the names with a comment."""
        line = self.lines[i]
        verb = VERB.match(line)
        if verb:
            self.lines[i] = (f"{verb[1]}template <class... Args> auto {verb[2]}"
                             f"(const Args&... args);")
            named.add(verb[2])
            return
        name = name_of(self.lines, i)
        if documented or "///<" in line:
            named.update({name} - {None})
        elif IMPLICIT.match(line) or INHERITED.match(line):
            self.lines[i] = ""
        else:
            about = self.comment_for(line, name, indent, named)
            self.lines[i] = f"{line[:indent]}{about}{' ' if about else ''}{line[indent:]}"

    def comment_for(self, line, name, indent, named):
        """Returns the comment of a declaration without one of its own, or nothing."""
        if EQUALITY.match(line):
            return "/** Whether all members are equal. */"
        if name in named:
            return "/** As the declaration of this name above. */"
        if name and name.removesuffix("_at") in named:
            return f"/** As {name.removesuffix('_at')}, with the call site of a wrapper. */"
        return OLDER if self.group == "older_names" and indent == 0 else ""
