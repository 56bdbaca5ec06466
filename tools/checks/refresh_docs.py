#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Puts the current text of sources and expected outputs into the pages that show them.

Rewrites every block that check_docs.py compares. Run it after changing an example, and read the
diff.
"""

import pathlib
import re

import check_docs
import tree

BLOCK = re.compile(r"^(<!-- (?:snippet|output): [^\n]* -->\n\n?```(?:cpp|cmake|text)\n)"
                   r"(.*?)(^```$)", re.MULTILINE | re.DOTALL)


def wanted(root, origin):
    """Returns the text that belongs after an origin line, or nothing."""
    found = check_docs.SNIPPET.match(origin) or check_docs.OUTPUT.match(origin)
    if not found or not (root / found[1]).is_file():
        return None
    text = (root / found[1]).read_text()
    if check_docs.SNIPPET.match(origin):
        return check_docs.region(text, found[2])
    return (check_docs.part_of(text, found[2]) or "") if found[2] else text


def refresh(files, report):
    for name in files.files:
        if not name.endswith(".md"):
            continue

        def replace(match):
            text = wanted(files.root, match[1].splitlines()[0])
            return match[0] if text is None else match[1] + text.rstrip("\n") + "\n" + match[3]

        path = pathlib.Path(files.root / name)
        text = path.read_text()
        fresh = BLOCK.sub(replace, text)
        if fresh != text:
            path.write_text(fresh)
            print(f"{name}: refreshed")


if __name__ == "__main__":
    tree.main(refresh, "pages")
