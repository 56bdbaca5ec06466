#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of the page of `belfry view` in Chromium.

usage: page_test.py <program belfry> <folder for pages and pictures>
"""

import os
import pathlib
import subprocess
import sys
import unittest

from browser import Browser
from sample_traces import Sample

# The bounds: bytes of a page with 50,000 steps, and seconds until the page is drawn.
MOST_BYTES, MOST_SECONDS = 10_000_000, 3
SOURCE = "".join(f"source line {number}\n" for number in range(1, 21))
FAILURE = {"code": "BF-010", "text": "some replicas ended without a merge that others wait in",
           "replicas": [0, 1], "lines": ["train.cpp:13", "train.cpp:8"],
           "parts": ["waits", "returned"], "hint": "take merges out of branches"}


class PageTest(unittest.TestCase):
    """A browser for all tests of a class. No page may complain or ask for another file."""

    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def setUp(self):
        self.browser.complaints.clear()

    def tearDown(self):
        self.assertEqual(self.browser.complaints, [])

    def open(self, name, trace, anchor="", view=(), **how):
        """Writes a trace, or those of a job, and the page, and opens it. Returns the seconds."""
        self.path = FOLDER / f"{name}.html"
        files = []
        for i, text in enumerate([trace] if isinstance(trace, str) else trace):
            files.append(FOLDER / f"{name}.{i}.jsonl")
            files[-1].write_text(text)
        said = subprocess.run([BELFRY, "view", *files, "-o", self.path, *view],
                              capture_output=True, text=True, check=True)
        self.said = said.stdout
        seconds = self.browser.open(self.path, anchor, **how)
        self.picture(name)
        return seconds

    def picture(self, name):
        self.browser.picture(FOLDER / f"{name}.png")

    def text(self, selector):
        return self.browser.value(f"document.querySelector({selector!r})?.innerText ?? ''")

    def texts(self, selector):
        return self.browser.value(f"[...document.querySelectorAll({selector!r})]"
                                  ".map((found) => found.innerText)")

    def count(self, selector):
        return self.browser.value(f"document.querySelectorAll({selector!r}).length")

    def at(self):
        return self.text("#position")


class Shows(PageTest):
    def test_lanes_merges_and_waits(self):
        self.open("training", Sample().run(2))
        self.assertEqual(self.text("h1"), "The program ran without an error.")
        self.assertEqual(self.texts(".title"), [
            "host", "replica 0", "replica 1", "compute of replica 0", "communication of replica 0",
            "compute of replica 1", "communication of replica 1"])
        self.assertEqual(self.count("rect.bar:not(.inner)"), 2)
        self.assertIn("merge 1: all_reduce (sum)", self.texts(".text.merge"))
        # Replica i brings (i + 1) / 8 and 1 / 16; each gets the sums.
        self.assertEqual(self.texts(".text.exchange")[:4], ["[0.125, 0.0625]", "[0.375, 0.125]",
                                                            "[0.25, 0.0625]", "[0.375, 0.125]"])
        self.assertIn("waits for merge 1", self.texts(".text.waits"))
        self.assertGreater(self.count("line.wait"), 2)

    def test_the_step_with_the_state(self):
        self.open("state", Sample().run(2), "#step=33")
        panel = self.text("#panel")
        # The weight is 1 less an eighth of 0.375, and less an eighth of 0.375 again.
        self.assertIn("The merge writes weight of replica 0 at train.cpp:14: "
                      "[0.953125, 0.984375] becomes [0.90625, 0.953125], version 3", panel)
        self.assertEqual(self.texts(".variable.changed mark"), ["[0.9063, 0.9531]"])
        self.assertIn("was [0.9531, 0.9844]", self.text(".variable.changed"))
        self.assertIn("replica 1\t[0.9531, 0.9844]", self.text(".variable.changed"))

    def test_the_order_on_demand(self):
        self.open("order", Sample().run(1), "#step=14")
        self.assertEqual(self.count("path.edge"), 3)
        self.assertEqual(len(self.texts("#panel li")), 3)
        self.browser.value("document.querySelector('#panel li button').click()")
        self.assertEqual(self.at(), "step 8 of 22")
        self.browser.press("s")
        self.assertEqual(self.count(".title"), 3)
        self.browser.value("location.hash = '#step=15'")
        self.browser.settle()
        self.assertEqual(self.at(), "step 15 of 22")  # A step of a stream, which is shown again.
        self.assertEqual(self.count(".title"), 7)

    def test_source_lines(self):
        (FOLDER / "train.cpp").write_text(SOURCE)
        self.open("source", Sample().run(1), "#step=4", view=["--source", FOLDER])
        self.assertEqual(self.text(".here").split(), "13 source line 13".split())
        self.assertEqual(self.browser.value("document.title"), "training: a run, step by step")

    def test_the_error_first(self):
        sample = Sample(program="stuck")
        sample.add(failure=FAILURE)
        self.open("error", sample.run(3, stuck=2))
        self.assertEqual(self.text("h1"), f"BF-010 {FAILURE['text']}")
        self.assertEqual(self.text("#banner .bad pre").split("\n")[:3], [
            "  replica 0  train.cpp:13  waits", "  replica 1  train.cpp:8  returned",
            "  hint: take merges out of branches"])
        self.assertEqual(self.at(), "step 23 of 23")  # The last step of the run.
        self.assertIn("replica 0\twaits for merge 2", self.text("#panel"))
        self.assertIn("replica 1\thas ended", self.text("#panel"))

    def test_replicas_that_differ(self):
        self.open("differ", Sample().run(3, differ_at=2), "#step=24")
        self.assertEqual(self.texts("#banner p.differs"),
                         ["Merge 2 (all_reduce) gave the replicas different values. Show",
                          "The copies of weight, a mirrored variable, differ. Show"])
        self.assertEqual(self.count("rect.bar.bad"), 1)
        self.browser.press("d")
        self.assertEqual(self.at(), "step 35 of 56")
        self.assertIn("The copies differ.", self.text(".variable.differs"))
        self.open("equal", Sample().run(3))
        self.assertEqual(self.count("#banner p.differs"), 0)

    def test_names_with_html_as_text(self):
        name = "</script><script>alert(1)</script><b>w</b>"
        self.open("names", Sample(weight=name, program="<i>p</i>").run(1), "#step=16")
        self.assertIn(f"{name} mirrored", self.text("#panel h3"))
        self.assertIn("<i>p</i>", self.text("#banner"))
        self.assertEqual(self.count("b, i, body script:not(#trace, #sources)"), 1)

    def test_words_for_a_cancelled_replica(self):
        sample = Sample()
        sample.step("arrive", "R0", run=1, round=1, name="all_reduce", brings=[])
        sample.step("throw", "R0", run=1, error="cancelled")
        self.open("cancelled", sample.text())
        self.assertIn("is cancelled", self.texts("#lanes .text.bad"))
        self.assertEqual(self.count("line.wait"), 1)  # From the arrival to the exception.

    def test_a_merge_of_a_group_on_its_members(self):
        # Replicas 0 and 2 meet, replica 1 alone, and then all. Step 1 is hidden.
        sample = Sample(3)
        sample.step("run_begin", "H0", run=1, replicas=3)
        sample.step("allocate", "R0", run=1, buffer=7, bytes=8, bookkeeping=True)
        for group in ([0, 2], [1], None):
            here = {"run": 1, "round": 1, "name": "all_reduce"}
            here |= {"group": group} if group else {}
            members = group or range(3)
            after = [sample.step("arrive", f"R{i}", **here, brings=[sample.tensor([i, i])])
                     for i in members]
            merge = sample.step("merge", "M0", **here, after=after)
            for i in members:
                got = [i, i] if not group and i else [7, 7]
                sample.step("resume", f"R{i}", **here, after=[merge], gets=[sample.tensor(got)])
        self.open("groups", sample.text(), "#step=3")
        self.assertEqual(self.texts(".text.merge"), [
            "merge 1 of group {0, 2}: all_reduce", "merge 1 of group {1}: all_reduce",
            "differs: merge 1: all_reduce"])
        self.assertEqual(self.texts("#banner p.differs"),
                         ["Merge 1 (all_reduce) gave the replicas different values. Show"])
        self.assertEqual(self.texts(".text.exchange"), [
            "[0, 0]", "[7, 7]", "[2, 2]", "[7, 7]", "[1, 1]", "[7, 7]",
            "[0, 0]", "[7, 7]", "[1, 1]", "[1, 1]", "[2, 2]", "[2, 2]"])
        # Bars: over the lanes of replicas 0 and 2 apart, of 1, and of all.
        bars = self.browser.value("""[...document.querySelectorAll("rect.bar")].map((bar) => {
            const left = bar.x.baseVal.value, right = left + bar.width.baseVal.value;
            return [...document.querySelectorAll(".title.replica")].map(
                (title) => left < title.offsetLeft && title.offsetLeft < right);
        })""")
        self.assertEqual(bars, [[True, False, False], [False, False, True], [False, True, False],
                                [True, True, True]])
        self.assertIn("replica 2\twaits for merge 1 of group {0, 2}", self.text("#panel"))

    def test_the_processes_of_a_job(self):
        # Process 1 has a merge more.
        traces = [Sample(1, process=i, processes=2).run(1 + i) for i in (1, 0)]
        self.open("job", traces, "#step=1:3")
        self.assertEqual(self.texts(".title"), [
            name for i in (0, 1) for name in (
                f"process {i}", f"replica 0 of process {i}",
                f"compute of replica 0 of process {i}",
                f"communication of replica 0 of process {i}")])
        self.assertEqual(self.texts(".text.merge"), [
            "merge 1: all_reduce (sum)", "merge 1: all_reduce (sum)", "merge 2: all_reduce (sum)"])
        # The steps before the merges, process after process, and then the merges.
        numbers = [text for text in self.texts(".text.number") if ":" in text]
        self.assertEqual(numbers[:11], ["0:0", "0:1", "0:2", "0:3", "1:0", "1:1", "1:2", "1:3",
                                        "0:4", "1:4", "0:5"])
        self.assertIn("2 replicas · 2 processes", self.text("#banner"))
        self.assertIn("eplica 0 of process 1 arrives at merge 1", self.text("#panel"))
        self.browser.press("n", "n")
        self.assertRegex(self.at(), "^step 1:4 of ")

    def test_a_trace_that_stops(self):
        trace = Sample().run(1)
        self.open("stops", trace[:trace.index('{"end"') - 30])
        self.assertEqual(self.text("h1"), "The trace stops before its end.")
        self.assertIn("is torn and was left out", self.text("#banner"))


class Steps(PageTest):
    def test_by_keys(self):
        self.open("keys", Sample().run(2))
        for keys, wanted in ((["j", "j", "ArrowDown"], 3), (["k", "ArrowUp"], 1), (["n"], 7),
                             (["n"], 24), (["n"], 24), (["p"], 7), (["End"], 39), (["Home"], 0),
                             (["ArrowRight"], 39), (["ArrowLeft"], 0), (["PageDown"], 21)):
            self.browser.press(*keys)
            self.assertEqual(self.at(), f"step {wanted} of 39", keys)
        self.assertIn("step 21 of 39. replica 0 arrives at merge 2", self.text("#said"))
        self.browser.press("b", "k", "k")
        self.assertEqual(self.at(), "step 19 of 39")  # Bookkeeping is shown.
        self.browser.press("s")
        self.assertEqual(self.count(".title"), 3)

    def test_by_tab_alone(self):
        self.open("tab", Sample().run(1))
        self.browser.value("document.querySelector('[data-key=n]').focus()")
        self.browser.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter",
                          text="\r", windowsVirtualKeyCode=13)
        self.browser.settle()
        self.assertEqual(self.at(), "step 7 of 22")

    def test_in_a_table(self):
        self.open("table", Sample().run(1))
        self.assertEqual(self.count("#table tbody tr"), 22)  # A step of 23 is bookkeeping.
        self.browser.press("t", "n")
        self.picture("table")
        self.assertEqual(self.browser.value("document.activeElement.id"), "table")
        self.assertIn("merge 1, all_reduce (sum) at train.cpp:13, is done once",
                      self.text("#table [aria-current=true]"))
        roles = {node["role"]["value"]
                 for node in self.browser.call("Accessibility.getFullAXTree")["nodes"]}
        self.assertLessEqual({"banner", "navigation", "main", "complementary", "table", "status",
                              "columnheader", "rowheader", "slider"}, roles)


class Fits(PageTest):
    def test_fifty_thousand_steps(self):
        trace = Sample(4).run(1600)
        seconds = self.open("many", trace, "#step=49000")
        self.assertLessEqual(seconds, MOST_SECONDS)
        self.assertLessEqual(os.path.getsize(self.path), MOST_BYTES)
        print(f"50,000 steps: {seconds:.1f} s, {os.path.getsize(self.path):,} bytes of "
              f"{len(trace):,}")
        total = trace.count('{"step":')
        self.assertIn("50000 of", self.said)
        self.assertIn(f"This page shows 50,000 steps of {total:,}; {total - 50_000:,} are left "
                      "out.", self.text("#banner"))
        self.assertLess(self.count("*"), 3000)
        self.browser.press("j", "End")
        self.assertEqual(self.at(), "step 49998 of 49999")  # The last is bookkeeping.
        self.open("later", trace, view=["--from", "50000"])
        self.assertEqual(self.at(), f"step 50000 of {total - 1}")

    def test_dark_and_narrow(self):
        ground = "getComputedStyle(document.body).backgroundColor"
        self.open("light", Sample().run(1), "#step=14")
        self.assertEqual(self.browser.value(ground), "rgb(255, 255, 255)")
        # The lanes reach the lower edge.
        self.assertGreater(self.browser.value(
            "document.querySelector('#lanes').getBoundingClientRect().bottom"), 700)
        self.open("dark", Sample().run(1), "#step=14", dark=True)
        self.assertEqual(self.browser.value(ground), "rgb(20, 23, 27)")
        self.open("narrow", Sample().run(1), "#step=14", size=(480, 900))
        self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), 480)
        self.open("wide", Sample(8).run(2), "#step=60")


if __name__ == "__main__":
    BELFRY = pathlib.Path(sys.argv[1]).resolve()
    FOLDER = pathlib.Path(sys.argv[2]).resolve()
    FOLDER.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
