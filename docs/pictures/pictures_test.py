#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the pictures of the pages with the programs that they show.

usage: pictures_test.py DOC_PICTURES [argument of unittest ...]

- The program draws the bytes of the tree.
- Every number in a picture is a value of a run, and equals the value worked out below.
- Numbers of examples are those that the examples print.
- Texts are inside their boxes, and lie over no other text and no line.
- Pages say the same to those who hear a picture.
"""

import itertools
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
SVG = "{http://www.w3.org/2000/svg}"
NAMES = sorted(path.stem for path in FOLDER.glob("*.svg"))
PROGRAM = ""

# Names with numbers; every other number is a value.
NUMBERED = re.compile(r"\b(?:replica|tower|host|process|step) \d\b|\bx\d\b")
SIZES = {"title": 18, "strong": 15, "small": 13}
# Bounds of the width of a digit, and of the mean width of other characters, in sizes of the font.
# The widest of common fonts is DejaVu Sans, whose bold digits have 0.696.
DIGIT, CHARACTER = 0.7, 0.64


def numbered(name, values):
    """Returns {id of a value: the value as it is drawn}."""
    return {f"{name}-{index}": f"{value:.17g}" for index, value in enumerate(values)}


def of_replica():
    squares = [(10 + id) ** 2 for id in range(3)]
    return {"base": "10", **numbered("argument", [10] * 3), **numbered("id", range(3)),
            **numbered("square", squares), **{f"device-{id}": f"SIM:{id}" for id in range(3)}}


def of_merge():
    gradients = [1, 2]
    mean = sum(gradients) / 2
    after = 10 - mean
    return {**numbered("before", [10, 10]), **numbered("gradient", gradients),
            **numbered("brings", gradients), **numbered("brought", gradients), "mean": f"{mean:g}",
            "weight": "10", "step": f"{mean:g}", "new-weight": f"{after:g}",
            **numbered("after", [after] * 2),
            **numbered("result", [after * gradient for gradient in gradients])}


def of_all_reduce():
    found = {}
    for id in range(3):
        found |= numbered(f"own-{id}", [10**id, 2 * 10**id])
        found |= numbered(f"sum-{id}", [111, 222])  # 1 + 10 + 100, and twice that.
        found |= numbered(f"mean-{id}", [37, 74])  # 111 / 3, and twice that.
    return found


def of_variables():
    # The gradients are 0 and 10, their mean is 5, and half of the mean is taken away.
    return {**numbered("weight-first", [10, 10]), **numbered("weight-last", [7.5, 7.5]),
            "weight-read": "7.5", **numbered("seen-first", [0, 0]),
            **numbered("seen-last", [30, 34]), "seen-read": "64"}


def of_tower_local():
    return {**numbered("before", [0, 0]), **numbered("added", [0, 4]), **numbered("after", [0, 4]),
            **numbered("component", [0, 4]), "fetched": "2"}


def of_ring():
    """SEM-32: the sum of chunk c starts at replica c and goes round in ascending order."""
    table = [[10**id * (chunk + 1) for chunk in range(3)] for id in range(3)]
    steps = [table]
    for step in range(4):
        before, table = table, [list(row) for row in table]
        for chunk in range(3):
            sender = (chunk + step) % 3
            receiver = (sender + 1) % 3
            kept = before[receiver][chunk] if step < 2 else 0
            table[receiver][chunk] = before[sender][chunk] + kept
        steps.append(table)
    found = {}
    for step, replica in itertools.product(range(5), range(3)):
        found |= numbered(f"step-{step}-replica-{replica}-chunk", steps[step][replica])
    return found


def of_additions():
    # Floats of 32 bits have 24 bits: between 2^24 and 2^25 the even numbers alone are floats, and
    # 2^24 + 1 is halfway, and rounded to 2^24. Below 2^24 every whole number is a float.
    large = 2**24
    return {**numbered("input", [large, 1, 1, -large]),
            **numbered("replica-order", [large, large, 0]),  # Both small numbers are lost,
            **numbered("tree", [large, 1 - large, 1]),  # one of them,
            **numbered("ring", [2, 2 - large, 2]),  # and none.
            "large": f"{large}", "small": "1", "rounded": f"{large}"}


def of_race():
    # The seeds are those of the page on verdicts. The last of 0.5 and 1.5 stays.
    return {"first-seed": "1", **numbered("first-write", [1.5, 0.5]), "first-loss": "0.5",
            "second-seed": "2", **numbered("second-write", [0.5, 1.5]), "second-loss": "1.5"}


def of_job():
    return {**numbered("brings", [1, 2, 3, 4]), **numbered("gets", [10] * 4)}


def printed(name, part=None):
    """Returns the lines that an example prints, or those below `== part`."""
    text = (ROOT / "docs/examples" / f"{name}.expected").read_text()
    if part:
        text = re.split(rf"^== {part}\n", text, flags=re.MULTILINE)[1]
    return re.split(r"^== ", text, flags=re.MULTILINE)[0].split("\n")


class Picture:
    """What a picture shows."""

    def __init__(self, name):
        self.root = xml.etree.ElementTree.parse(FOLDER / f"{name}.svg").getroot()
        self.texts = self.root.findall(f"{SVG}text")
        self.values = {part.get("id"): part.text for part in self.root.iter(f"{SVG}tspan")}
        self.description = self.root.findtext(f"{SVG}desc")

    def places(self, what, *keys):
        """Returns four numbers of each rectangle or line."""
        return [[float(each.get(key)) for key in keys] for each in self.root.findall(SVG + what)]


def place_of(text):
    """Returns the rectangle that a text needs at most, whatever the font."""
    styles = text.get("class").split()
    size = next((SIZES[style] for style in styles if style in SIZES), 15)
    width = size * sum(DIGIT if character.isdigit() else CHARACTER
                       for character in "".join(text.itertext()))
    left = float(text.get("x")) - (width / 2 if "middle" in styles else 0)
    base = float(text.get("y"))
    return left, base - 0.8 * size, left + width, base + 0.25 * size


def inside(one, other):
    return (one[0] >= other[0] and one[1] >= other[1] and one[2] <= other[2]
            and one[3] <= other[3])


def apart(one, other):
    return one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


def crosses(line, box):
    """Says whether a straight line comes into a rectangle, at one of many points."""
    x1, y1, x2, y2 = line
    points = ((x1 + (x2 - x1) * part / 200, y1 + (y2 - y1) * part / 200) for part in range(201))
    return any(box[0] < x < box[2] and box[1] < y < box[3] for x, y in points)


def faults_of(picture):
    """Returns a line for each text or box that is not in its place."""
    page, *boxes = ((x, y, x + width, y + height) for x, y, width, height
                    in picture.places("rect", "x", "y", "width", "height"))
    lines = picture.places("line", "x1", "y1", "x2", "y2")
    places = [(place_of(text), "".join(text.itertext())) for text in picture.texts]
    faults = [f"'{text}' lies over '{other_text}'" for (place, text), (other, other_text)
              in itertools.combinations(places, 2) if not apart(place, other)]
    for place, text in places:
        if not inside(place, page):
            faults.append(f"'{text}' leaves the page")
        # The last box with the text hides the edges of the boxes before.
        last = max((index for index, box in enumerate(boxes) if inside(place, box)), default=-1)
        if not all(apart(place, box) for box in boxes[last + 1:]):
            faults.append(f"'{text}' crosses the edge of a box")
        if any(crosses(line, place) for line in lines):
            faults.append(f"a line crosses '{text}'")
    return faults + [f"the box {box} leaves the page" for box in boxes if not inside(box, page)]


class Pictures(unittest.TestCase):
    def setUp(self):
        self.pictures = {name: Picture(name) for name in NAMES}

    def test_are_those_that_the_programs_draw(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([PROGRAM, folder], check=True)
            drawn = {path.stem: path.read_bytes() for path in pathlib.Path(folder).iterdir()}
        self.assertEqual(sorted(drawn), NAMES)
        for name in NAMES:
            with self.subTest(name):
                self.assertEqual((FOLDER / f"{name}.svg").read_bytes(), drawn[name],
                                 f"draw anew: {PROGRAM} docs/pictures")
                self.assertLess(len(drawn[name]), 12 * 1024)

    def test_show_the_values_of_arithmetic(self):
        for name, picture in self.pictures.items():
            self.assertEqual(picture.values, globals()[f"of_{name}"]())

    def test_have_no_number_beside_the_values(self):
        for picture in self.pictures.values():
            for text in picture.texts:
                parts = [text.text or "", *(part.tail or "" for part in text)]
                self.assertNotRegex(NUMBERED.sub("", "|".join(parts)), r"\d")

    def test_describe_values_alone(self):
        for picture in self.pictures.values():
            numbers = set(re.findall(r"-?\d+(?:\.\d+)?", picture.description))
            allowed = {*picture.values.values(), *"01234"}  # Replicas, hosts and steps.
            self.assertLessEqual(numbers, allowed)

    def test_show_what_the_examples_print(self):
        values = {name: picture.values for name, picture in self.pictures.items()}
        merge, race = values["merge"], values["race"]
        self.assertEqual(printed("first"), [
            f"{merge['result-0']} {merge['result-1']} {merge['new-weight']}", ""])
        squares = [values["replica"][f"square-{id}"] for id in range(3)]
        self.assertEqual(printed("tutorial", "run")[0].split(), squares)
        read = values["variables"]
        self.assertEqual(printed("tutorial", "variables")[0],
                         f"{read['weight-read']} {read['seen-read']}")
        self.assertEqual(printed("towers", "tower_local_var_scope")[0],
                         values["tower_local"]["fetched"])
        for order in ("first", "second"):
            self.assertIn(f"seed {race[f'{order}-seed']}: {race[f'{order}-loss']}",
                          printed("verdicts", "seeds"))
        self.assertIn(f"process 1, sum {values['job']['gets-2']}", printed("processes", "hosts"))

    def test_have_texts_in_their_places(self):
        faults = {name: faults_of(picture) for name, picture in self.pictures.items()}
        self.assertEqual({name: found for name, found in faults.items() if found}, {})

    def test_have_the_same_words_in_the_pages(self):
        shown = set()
        for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
            for words, name in re.findall(r"^!\[(.*)\]\((?:docs/)?pictures/(\w+)\.svg\)$",
                                          path.read_text(), re.MULTILINE):
                with self.subTest(path=path.name, picture=name):
                    self.assertEqual(words, self.pictures[name].description)
                shown.add(name)
        self.assertEqual(sorted(shown), NAMES)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
