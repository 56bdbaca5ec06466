#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that the links of a folder of HTML lead to files and anchors of the folder.

usage: check_site.py FOLDER
"""

import html.parser
import pathlib
import posixpath
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors.update(filter(None, (given.get("id"), tag == "a" and given.get("name"))))
        link = given.get("href") or given.get("src")
        if link:
            self.links.append((self.getpos()[0], link))


def faults(folder):
    """Returns a line for each link that leads nowhere."""
    folder = pathlib.Path(folder)
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    found = {name: Page((folder / name).read_text(encoding="utf-8"))
             for name in sorted(files) if name.endswith(".html")}
    wrong = []
    for name, page in found.items():
        for line, link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path = urllib.parse.unquote(parts.path)
            beside = posixpath.join(posixpath.dirname(name), path)
            target = posixpath.normpath(beside) if path else name
            anchor = urllib.parse.unquote(parts.fragment)
            if target not in files:
                wrong.append(f"{name}:{line}: no file {target}")
            elif anchor and target in found and anchor not in found[target].anchors:
                wrong.append(f"{name}:{line}: no anchor {anchor} in {target}")
    if "index.html" not in found:
        wrong.append(f"{folder}: no index.html")
    return wrong


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip().splitlines()[-1])
    wrong_links = faults(sys.argv[1])
    print(*wrong_links, sep="\n")
    sys.exit(1 if wrong_links else 0)
