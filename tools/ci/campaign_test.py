#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of the campaign on a small repository, and of the list of steps."""

import contextlib
import io
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import campaign
from campaign_steps import STEPS, Step

ROOT = pathlib.Path(__file__).resolve().parents[2]


class CampaignTest(unittest.TestCase):
    """A repository with two steps. Each step writes its name to the ignored file `ran`."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("tools/ci/common.sh", "loaded=yes\n")
        self.write("tools/apt-packages.txt", "# None.\n")
        self.write(".gitignore", "/build/\n/ran\n/ok\n")
        self.write("core/a.cpp", "int a;\n")
        self.write("docs/page.md", "A page.\n")
        self.git("init", "-q")
        self.git("add", ".")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "a")
        self.steps = {"one": Step("one", "one passes", ("core/*",), "echo one >>ran"),
                      "two": Step("two", "two passes", ("docs/*",), "echo two >>ran")}

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def git(self, *arguments):
        subprocess.run(["git", *arguments], cwd=self.root, check=True)

    def made(self):
        return campaign.Campaign(self.root, self.steps.values())

    def run_campaign(self, *arguments):
        """Returns the exit status and the text of a campaign; the steps write to `ran`."""
        (self.root / "ran").unlink(missing_ok=True)
        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            try:
                status = campaign.main(list(arguments), self.made())
            except SystemExit as end:
                status = end.code
        return status, text.getvalue()

    def ran(self):
        path = self.root / "ran"
        return path.read_text().split() if path.exists() else []

    def runs(self, wanted, *arguments, status=0):
        got, text = self.run_campaign(*arguments)
        self.assertEqual((got, self.ran()), (status, wanted), text)
        return text


class Remembers(CampaignTest):
    def test_runs_no_step_that_is_unchanged(self):
        self.runs(["one", "two"])
        text = self.runs([])
        self.assertEqual(text.count("unchanged since"), 4, text)
        self.runs(["one", "two"], "--again")

    def test_runs_a_step_whose_file_changed_without_a_commit(self):
        self.runs(["one", "two"])
        self.write("core/a.cpp", "int b;\n")
        self.runs(["one"])
        self.runs([])
        self.write("core/a.cpp", "int a;\n")
        self.runs(["one"])

    def test_knows_files_that_come_and_go(self):
        self.runs(["one", "two"])
        new = self.write("core/new.cpp", "")
        self.runs(["one"])
        new.unlink()
        self.runs(["one"])
        self.write("build/core/a.cpp", "ignored by git\n")
        self.runs([])

    def test_runs_a_step_whose_script_or_setting_changed(self):
        self.steps["one"] = Step("one", "{CASES} cases", ("core/*",), "echo $CASES >>ran",
                                 settings={"CASES": "100"})
        self.assertIn("100 cases", self.runs(["100"], "one"))
        with mock.patch.dict(os.environ, CASES="7"):
            self.assertIn("7 cases", self.runs(["7"], "one"))
            self.runs([], "one")
            with mock.patch.dict(os.environ, CXXFLAGS="-O1"):
                self.runs(["7"], "one")
        self.steps["one"] = Step("one", "no setting", ("core/*",), "echo more >>ran")
        self.runs(["more"], "one")

    def test_runs_a_step_whose_compiler_changed(self):
        compiler = self.write("build/g", "#!/bin/sh\necho 1\n")
        compiler.chmod(0o755)
        self.steps["one"] = Step("one", "", ("core/*",), "echo one >>ran", (str(compiler),))
        self.runs(["one"], "one")
        compiler.write_text("#!/bin/sh\necho 2\n")
        campaign.version_of.cache_clear()
        self.runs(["one"], "one")
        compiler.unlink()
        campaign.version_of.cache_clear()
        self.runs(["one"], "one")

    def test_does_not_remember_what_changed_meanwhile(self):
        self.steps["one"] = Step("one", "", ("core/*",), "echo one >>ran; echo >>core/a.cpp")
        self.runs(["one"], "one")
        self.runs(["one"], "one")

    def test_does_not_remember_a_step_that_is_not_applicable(self):
        self.steps["one"] = Step("one", "", ("core/*",), "echo one >>ran; exit 77")
        self.assertIn("skipped", self.runs(["one"], "one"))
        self.runs(["one"], "one")

    def test_trusts_no_damaged_record(self):
        self.runs(["one"], "one")
        record = self.root / "build/campaign/one.passed"
        saved = json.loads(record.read_text())
        saved["inputs"]["core/a.cpp"] = "another"
        record.write_text(json.dumps(saved))
        self.runs(["one"], "one")
        record.write_text("{")
        self.runs(["one"], "one")


class Fails(CampaignTest):
    def setUp(self):
        super().setUp()
        self.steps["one"] = Step("one", "", ("core/*",),
                                 "echo one >>ran\ntest -e ok\necho reached")

    def test_runs_a_step_that_failed_again(self):
        text = self.runs(["one", "two"], status=1)
        self.assertIn("one            FAILED", text)
        self.runs(["one"], status=1)
        self.write("ok", "")
        self.runs(["one"])
        self.runs([])

    def test_forgets_a_step_that_fails_again_with_the_same_inputs(self):
        passes = self.write("ok", "")
        self.runs(["one"], "one")
        passes.unlink()
        self.runs([], "one")
        self.runs(["one"], "one", "--again", status=1)
        self.runs(["one"], "one", status=1)

    def test_goes_on_after_a_failure_unless_told_otherwise(self):
        self.runs(["one", "two"], "--keep-going", status=1)
        self.runs(["one"], "--again", "--no-keep-going", status=1)

    def test_shows_the_end_of_the_output_and_keeps_all(self):
        self.steps["one"] = Step("one", "", (), "seq 30; echo $loaded-bad >&2; false")
        text = self.runs([], "one", status=1)
        self.assertIn("\n    yes-bad\n", text)
        self.assertNotIn("\n    5\n", text)
        self.assertIn("\n5\n", (self.root / "build/campaign/one.log").read_text())

    def test_goes_on_where_it_was_cut_off(self):
        self.steps["one"] = Step("one", "", ("core/*",), "echo one >>ran")
        self.steps["two"] = Step("two", "", ("docs/*",),
                                 "echo two >>ran\ntest -e ok || kill -KILL $PPID")
        script = ("import campaign, sys\nfrom campaign_steps import Step\n"
                  f"steps = {list(self.steps.values())!r}\n"
                  f"campaign.main([], campaign.Campaign({str(self.root)!r}, steps))\n")
        cut_off = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                                 cwd=pathlib.Path(__file__).parent)
        self.assertEqual((cut_off.returncode, self.ran()), (-9, ["one", "two"]), cut_off.stderr)
        self.write("ok", "")
        text = self.runs(["two"])
        self.assertIn("one            unchanged since", text)


class Lists(CampaignTest):
    def test_says_whether_steps_have_passed(self):
        self.steps["three"] = Step("three", "", (), "false")
        self.assertEqual(self.run_campaign("list")[1].count("never run"), 3)
        self.runs(["one", "two"], status=1)
        self.write("core/a.cpp", "int b;\n")
        self.write("core/b.cpp", "int b;\n")
        text = self.runs([], "list")
        self.assertRegex(text, r"one  +one passes\n +changed: core/a.cpp and 1 more\n")
        self.assertRegex(text, r"two  +two passes\n +passed: \d{4}-\d\d-\d\d \d\d:\d\d\n")
        self.assertRegex(text, r"three  +\n +not passed\n")

    def test_chooses_steps_and_their_parts(self):
        self.steps["one.more"] = Step("one.more", "", (), "echo more >>ran")
        self.runs(["more"], "one.more")
        self.runs(["one"], "one")
        self.runs(["two", "one", "more"], "--again", "two", "one", "one.more")

    def test_reports_a_step_that_does_not_exist(self):
        self.assertIn("no step 'three'", self.runs([], "three", status=2))

    def test_lets_the_last_pattern_decide(self):
        patterns = ("core/*", "!*.md", "core/x.md")
        chosen = [path for path in ("core/a/b.cpp", "core/y.md", "core/x.md", "docs/a.cpp")
                  if campaign.matches(path, patterns)]
        self.assertEqual(chosen, ["core/a/b.cpp", "core/x.md"])


class ListOfSteps(unittest.TestCase):
    """The steps of this repository."""

    def test_has_different_names_and_texts_that_fit(self):
        made = campaign.Campaign(ROOT, STEPS)
        self.assertEqual(len(made.steps), len(STEPS))
        for step in STEPS:
            self.assertTrue(made.proves(step.name))
            self.assertFalse(set(campaign.ENVIRONMENT) & set(step.settings), step.name)

    def test_has_scripts_that_bash_reads(self):
        for step in STEPS:
            run = subprocess.run(["bash", "-n"], input=step.script, text=True)
            self.assertEqual(run.returncode, 0, step.name)

    def test_has_patterns_that_match_files(self):
        files = campaign.Campaign(ROOT, STEPS).files()
        for step in STEPS:
            for pattern in step.inputs:
                found = [path for path in files if campaign.matches(path, [pattern.strip("!")])]
                self.assertTrue(found, f"{step.name}: {pattern}")

    def test_uses_presets_that_exist(self):
        presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
        names = {preset["name"] for preset in presets}
        for step in STEPS:
            used = re.findall(r"(?:^configure(?:_and_build)?|--preset) (\w+)", step.script, re.M)
            self.assertLessEqual(set(used), names, step.name)

    def test_runs_every_test_of_a_sanitized_build_in_one_part(self):
        tests = {"core_test": "unit;asan", "driver_test": "asan;cuda", "props_sim": "prop;asan",
                 "props_cuda": "prop;cuda;asan", "props_cuda.on_baton": "prop", "docs.a": "unit",
                 "props_sim.with_functions_of": "prop", "sharing.is_found_on_fiber": "prop",
                 "lint.a": "lint", "install.a": "install"}
        with tempfile.TemporaryDirectory() as folder:
            lines = [f'add_test({name} "true")\nset_tests_properties({name} PROPERTIES LABELS '
                     f'"{labels}")\n' for name, labels in tests.items()]
            (pathlib.Path(folder) / "CTestTestfile.cmake").write_text("".join(lines))
            ran = []
            for step in (each for each in STEPS if each.name.startswith("tsan.")):
                chosen = shlex.split(step.script.split("--preset tsan", 1)[1])
                listing = subprocess.run(["ctest", "-N", *chosen], cwd=folder, text=True,
                                         capture_output=True)
                ran += re.findall(r"Test +#\d+: (\S+)", listing.stdout)
        self.assertEqual(sorted(ran), sorted(set(tests) - {"lint.a", "install.a"}))


if __name__ == "__main__":
    unittest.main()
