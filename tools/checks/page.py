# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""A reader of the pages of Markdown: headings, links, tables, blocks of code, paragraphs."""

import dataclasses
import re
import textwrap

FENCE = re.compile(r"^ *```(\w*)")
HEADING = re.compile(r"^(#{1,6}) +(.*?) *$")
LINK = re.compile(r"\[((?:[^\]\[`]|`[^`]*`)*)\]\(([^)\s]+)\)")
QUOTED = re.compile(r"`([^`]+)`")
RULER = re.compile(r"^\|[-:| ]+\|$")
NO_PARAGRAPH = ("|", "#", "-", "<", "!", ">", "*", "    ")


@dataclasses.dataclass
class Block:
    """A fenced block: its language, the line before, the text, the lines of the two fences."""
    language: str
    origin: str
    text: str
    first: int
    last: int


class Page:
    """A page. Lines are numbered from 1; `prose` has those outside of blocks, with numbers."""

    def __init__(self, text):
        self.prose, self.blocks = [], []
        opened, origin, begin = None, "", 0
        lines = text.splitlines()
        for number, line in enumerate(lines, 1):
            fence = FENCE.match(line)
            if fence and opened is None:
                opened, begin = fence[1], number
            elif fence:
                inside = textwrap.dedent("\n".join(lines[begin:number - 1])).strip("\n")
                self.blocks.append(Block(opened, origin, inside, begin, number))
                opened, origin = None, ""
            elif opened is None:
                self.prose.append((number, line))
                origin = line.strip() or origin

    def headings(self):
        """Yields (line number, depth, heading, anchor as on GitHub)."""
        seen = {}
        for number, line in self.prose:
            if found := HEADING.match(line):
                anchor = anchor_of(found[2])
                seen[anchor] = seen.get(anchor, -1) + 1
                suffix = f"-{seen[anchor]}" if seen[anchor] else ""
                yield number, len(found[1]), found[2], anchor + suffix

    def links(self):
        """Yields (line number, target)."""
        for number, line in self.prose:
            for _, target in LINK.findall(line):
                yield number, target

    def rows(self, head=""):
        """Yields (line number, cells) of the tables whose head has a text; without the heads."""
        above, inside = "", False
        for number, line in self.prose:
            is_ruler = RULER.match(line) is not None
            inside = line.startswith("|") and (inside or is_ruler and head in above)
            if inside and not is_ruler:
                yield number, [cell.strip() for cell in re.split(r"(?<!\\)\|", line[1:])[:-1]]
            above = line

    def paragraphs(self):
        """Yields the paragraphs of prose, without headings, lists and tables."""
        for part in re.split(r"\n\s*\n", "\n".join(line for _, line in self.prose)):
            if not part.lstrip("\n").startswith(NO_PARAGRAPH):
                yield part


def anchor_of(heading):
    """Returns the anchor that GitHub gives to a heading."""
    text = LINK.sub(r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
