# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Converts pages of Markdown to the dialect of Doxygen, line for line.

Headings get the anchors of GitHub with the label of the page in front; links between pages lead to
labels; comments of HTML go; rule numbers and error codes become links.
"""

import pathlib
import posixpath
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "checks"))

from page import FENCE, LINK, Page  # noqa: E402

COMMENT = re.compile(r"^ *<!--.*-->\s*$")
SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
CITATION = re.compile(r"\b(SEM-\d+|BF-\d{3})\b")
CODE_NAME = re.compile(r"\bBF-\d{3} (k\w+)")
# Pages with more headings begin with a table of contents.
MOST_WITHOUT_CONTENTS = 4
MAIN = "README.md"
LIST = "docs/README.md"
SHOWN = re.compile(r"README\.md$|docs/")


def label_of(name):
    """Returns the label of a page: `docs/benchmarks/gpu.md` is `benchmarks_gpu`."""
    if name in (MAIN, LIST):
        return "index" if name == MAIN else "pages"
    path = name.removeprefix("docs/").removesuffix(".md").removesuffix("/README")
    return re.sub(r"\W", "_", path).lower()


def citations_of(pages):
    """Returns {rule number, error code or the code's name: label} from two pages of `pages`."""
    labels = {}
    for name in ("docs/semantics.md", "docs/errors.md"):
        for _, depth, heading, anchor in Page(pages.get(name, "")).headings():
            cited = CITATION.match(heading) if depth > 2 else None
            if not cited:
                continue
            label = f"{label_of(name)}-{anchor}"
            labels[cited[1]] = label
            named = CODE_NAME.match(heading)
            if named:
                labels[named[1]] = label
    return labels


def target_of(page, link, pages):
    """Returns what a link of `page` becomes: `@ref label`, LICENSE, or a link to another site."""
    path, _, anchor = link.partition("#")
    if "://" in link:
        return link
    name = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
    if name.endswith(".svg"):
        return posixpath.basename(name)  # Doxygen finds the file in IMAGE_PATH.
    if name not in (*pages, "LICENSE"):
        sys.exit(f"{page}: the site has no {name}")
    if name == "LICENSE":
        return name
    return f"@ref {label_of(name)}" + (f"-{anchor}" if anchor else "")


def with_citations(text, citations):
    return CITATION.sub(
        lambda cited: (f"[{cited[1]}](@ref {citations[cited[1]]})" if cited[1] in citations
                       else cited[1]), text)


def one_line(text):
    """Returns the text without line ends, and the line ends that it had."""
    return re.sub(r"\s*\n\s*", " ", text), "\n" * text.count("\n")


def convert_prose(text, page, pages, citations):
    """Converts text without code blocks. Every line end stays, some of them a little later."""
    kept = []

    def keep(piece):
        kept.append(piece)
        return f"\x00{len(kept) - 1}\x00"

    def span(found):
        code, ends = one_line(found[2])
        # Doxygen ends a code span at a quote unless it has two marks.
        return keep(f"``{code}``" if "'" in code else f"`{code}`") + ends

    def link(found):
        label, ends = one_line(found[1])
        return keep(f"[{label}]({target_of(page, found[2], pages)})") + ends

    text = SPAN.sub(span, text)
    text = LINK.sub(link, text)
    text = with_citations(text, citations)
    text = re.sub("[*][*](\x00\\d+\x00)[*][*]", r"<b>\1</b>", text)
    while "\x00" in text:
        text = re.sub("\x00(\\d+)\x00", lambda found: kept[int(found[1])], text)
    return text


def convert(page, pages, citations):
    """Returns the text of a page for Doxygen. `pages` are the texts of all pages, by name."""
    lines = pages[page].split("\n")
    label = label_of(page)
    headings = {number: found for number, *found in Page(pages[page]).headings()}
    out, prose, fenced, contents = [], [], False, False

    def flush():
        out.extend(convert_prose("\n".join(prose), page, pages, citations).split("\n")
                   if prose else [])
        prose.clear()

    for number, line in enumerate(lines, 1):
        if FENCE.match(line):
            flush()
            fenced = not fenced
            out.append(line.replace("```sh", "```").replace("```text", "```")
                       .replace("```cmake", "```"))
        elif fenced:
            out.append(line)
        elif number in headings:
            flush()
            depth, heading, anchor = headings[number]
            heading = heading.replace("`", "")
            if depth == 1:
                contents = page != MAIN and len(headings) > MOST_WITHOUT_CONTENTS
                named = "mainpage" if page == MAIN else label
                out.append(f"# {heading} {{#{named}}}")
            else:
                out.append(f"{'#' * depth} {heading} {{#{label}-{anchor}}}")
        elif contents and not line:
            out.append("[TOC]")
            contents = False
        else:
            prose.append("" if COMMENT.match(line) else line)
    flush()
    return "\n".join(out)


def title_of(text):
    return next(heading for _, depth, heading, _ in Page(text).headings() if depth == 1)


def listed_pages(pages):
    """Returns [(page, title)] of the list of pages and the rows of its tables."""
    rows = re.findall(r"^\| (?:figures )?(\[[^|]*) \|", pages[LIST], re.MULTILINE)
    listed = [LIST, *(f"docs/{path}" for row in rows for _, path in LINK.findall(row))]
    return [(page, title_of(pages[page])) for page in listed]


def read_pages(files):
    """Returns {name: text} of all pages of the site."""
    return {name: files.text(name) for name in files.pages() if SHOWN.match(name)}
