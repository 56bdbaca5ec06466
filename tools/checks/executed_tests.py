#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Counts the tests that build trees execute, and compares two counts.

A pass is a text: variables of the environment, a build tree, arguments of ctest. A count

- asks ctest for the tests of each pass;
- runs each GoogleTest program once for each environment and working folder, with ctest's tests;
- runs the other commands by ctest, or only counts them (--list-only);
- counts property cases by RapidCheck's progress, a dot for each passed case. RapidCheck prints
  `OK, passed N tests` under GoogleTest only for properties that classify their cases.

A count has problems, and the exit status is 1, if a test fails, a program is not built, a pass has
no tests, or a program does not run all of ctest's tests, or none.

A comparison lists the tests of only one count, and prints the sums side by side. The exit status is
1 if a count has problems, or if the second lacks a test or a kind of test of the first. --moved
excepts tests that run elsewhere now.

usage: executed_tests.py count [--list-only] [--save FILE] PASS ...
       executed_tests.py compare [--moved PATTERN] FIRST SECOND
for example, what `tools/go test` runs:
       executed_tests.py count "build/dev -LE lint" "build/dev -L lint" \\
         "RC_PARAMS=max_success=30 build/asan -L asan"
"""

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import planted_faults
import test_count
import tree

TEST_SECONDS = 3600
# Kinds of commands other than GoogleTest programs, by the name of the test.
COMMANDS = (
    ("planted faults", re.compile(r"^mutants\.(?!control$|unknown$)|^suites\.notice")),
    ("compile-fail sections", re.compile(r"^\S*compile_fail\S*\.(?!compile$|control$)")),
    ("programs compared", re.compile(r"^programs\.")),
    ("programs as bodies", re.compile(r"_as_body$")),
    ("documents compared", re.compile(r"^docs\.")),
    ("consumers", re.compile(r"^install\.")),
    ("checks of the sources", re.compile(r"^lint\.")),
    ("other commands", re.compile(r"")))
SUITES = re.compile(r"proptests_(?:(?P<strategy>\w+)_)?(?:sim|cuda)\b|--strategy=(?P<named>\w+)")
DOTS = re.compile(rb"^[.x]+\r?$", re.MULTILINE)


@dataclasses.dataclass
class Pass:
    """A build tree, the arguments that choose its tests, and the environment of all of them."""
    tree: pathlib.Path
    arguments: list
    environment: dict

    @staticmethod
    def parse(text):
        words, environment = shlex.split(text), {}
        while words and re.match(r"\w+=", words[0]):
            name, value = words.pop(0).split("=", 1)
            environment[name] = value
        if not words:
            sys.exit(f"executed_tests: no build tree in '{text}'")
        return Pass(pathlib.Path(words[0]).resolve(), words[1:], environment)

    def ctest(self, *arguments):
        return subprocess.run(["ctest", "--test-dir", self.tree, *self.arguments, *arguments],
                              env=os.environ | self.environment, capture_output=True, text=True)

    def cached(self, name):
        """Returns the value of a variable of CMake's cache."""
        cache = self.tree / "CMakeCache.txt"
        text = cache.read_text() if cache.is_file() else ""
        found = re.search(rf"^{name}:\w+=(.*)$", text, re.MULTILINE)
        return found[1] if found else ""


class Test:
    """A test of ctest, from the output of `ctest --show-only=json-v1`."""

    def __init__(self, entry, build):
        properties = {each["name"]: each["value"] for each in entry.get("properties", [])}
        self.name = entry["name"]
        self.command = entry.get("command", [])
        self.environment = tuple(properties.get("ENVIRONMENT", []))
        self.folder = properties.get("WORKING_DIRECTORY", str(build))
        self.disabled = bool(properties.get("DISABLED"))
        self.part = os.path.relpath(self.folder, build).split(os.sep)[0]

    def is_google_test(self):
        return any(word.startswith("--gtest_") for word in self.command)

    def program(self):
        """Returns the command without the options of GoogleTest."""
        return tuple(word for word in self.command if not word.startswith("--gtest_"))

    def filter(self):
        """Returns ctest's filter for the program; an empty text stands for all tests."""
        found = [word for word in self.command if word.startswith("--gtest_filter=")]
        return found[0].split("=", 1)[1] if found else ""

    def words(self):
        """Returns the program's name and its arguments."""
        return " ".join([pathlib.PurePath(self.command[0]).name, *self.command[1:]])

    def backend(self):
        """Returns the backend, by the program: in ctest, tests of equal names share labels."""
        words = self.words().split("--gtest_")[0]
        if re.search(r"cuda|driver", words):
            return "cuda host half"
        if re.search(r"(_|=)sim\b", words) or self.part in ("backends", "proptests"):
            return "sim"
        return "host/core" if self.part == "core" else "tools and docs"

    def suites(self):
        """Returns the strategy and the variables, the differences between passes of one suite."""
        found = SUITES.search(self.words())
        what = (found["strategy"] or found["named"] or "mirrored") if found else "other tests"
        ways = [value for value in self.environment if value.startswith("BELFRY_TESTING_")]
        return " ".join([what, *sorted(ways)])


def list_tests(given, count):
    """Returns the tests of a pass. Tests that cannot run are problems, or skipped if disabled."""
    listing = given.ctest("--show-only=json-v1")
    entries = json.loads(listing.stdout)["tests"] if listing.returncode == 0 else []
    if not entries:
        count.problems.append(f"{given.tree}: ctest lists no tests {listing.stderr.strip()}")
    tests = [Test(entry, given.tree) for entry in entries]
    for test in tests:
        if not test.command or test.name.endswith("_NOT_BUILT"):
            count.problems.append(f"{test.name}: its program is not built")
    count.skipped += [f"{test.name} (disabled)" for test in tests if test.disabled]
    return [test for test in tests if test.command and not test.disabled
            and not test.name.endswith("_NOT_BUILT")]


def add_run(count, test, sanitizers, names):
    """Counts the executed tests of a program."""
    count.tests[test.backend()].update(names)
    count.passes[f"{test.backend()}, {test.suites()}"].update(names)
    if sanitizers:
        count.sanitized[f"{test.backend()}, {sanitizers}"].update(names)


def read_report(report):
    """Returns the names of executed, skipped and failed tests."""
    executed, skipped, failed = [], [], []
    for suite in report["testsuites"]:
        for test in suite["testsuite"]:
            name = f"{suite['name']}.{test['name']}"
            if test["status"] == "RUN":
                (skipped if test.get("result") == "SKIPPED" else executed).append(name)
                if test.get("failures"):
                    failed.append(name)
    return executed, skipped, failed


def run_google_test(given, test, filters, count):
    """Runs the tests of a program with a common environment and folder."""
    environment = os.environ | given.environment
    environment |= dict(each.split("=", 1) for each in test.environment)
    environment["RC_PARAMS"] = environment.get("RC_PARAMS", "") + " verbose_progress=1"
    names = set() if "" in filters else filters
    where = " ".join([*test.environment, *test.program()])
    print(f"running {where}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "report.json"
        command = [*test.program(), f"--gtest_output=json:{output}"]
        command += [f"--gtest_filter={':'.join(sorted(names))}"] if names else []
        try:
            run = subprocess.run(command, cwd=test.folder, env=environment, timeout=TEST_SECONDS,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            report = json.loads(output.read_text())
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            count.problems.append(f"{where}: no report: {error}")
            return
    executed, skipped, failed = read_report(report)
    add_run(count, test, given.cached("BELFRY_SANITIZE"), executed)
    count.cases[test.backend()]["property cases"] += sum(
        line.count(b".") for line in DOTS.findall(run.stderr))
    count.skipped += skipped
    count.failing += failed
    if run.returncode != 0 and not failed:
        count.problems.append(f"{where}: exit status {run.returncode}, and no test failed")
    if not executed + skipped:
        count.problems.append(f"{where}: 0 tests ran")
    elif any("*" not in name and name not in executed + skipped for name in names):
        count.problems.append(f"{where}: tests that ctest names did not run")


def run_commands(given, tests, list_only, count):
    """Runs the other tests by ctest, or only counts them."""
    status = {test.name: "run" for test in tests}
    if tests and not list_only:
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / "report.xml"
            names = "|".join(re.escape(name) for name in status)
            given.ctest("-R", f"^({names})$", "--output-junit", output)
            cases = xml.etree.ElementTree.parse(output).iter("testcase")
            status = {case.get("name"): case.get("status") for case in cases}
    for test in tests:
        end = status.get(test.name, "missing")
        kind = next(kind for kind, pattern in COMMANDS if pattern.search(test.name))
        if end == "run":
            count.commands[kind][test.name] += 1
        elif end == "notrun":
            count.skipped.append(test.name)
        else:
            count.failing.append(f"{test.name} ({end})")


def count_pass(given, list_only, count):
    groups, commands = collections.defaultdict(list), []
    for test in list_tests(given, count):
        if test.is_google_test():
            groups[test.program(), test.environment, test.folder].append(test)
        else:
            commands.append(test)
    for group in groups.values():
        run_google_test(given, group[0], {test.filter() for test in group}, count)
    run_commands(given, commands, list_only, count)
    root = given.cached("CMAKE_HOME_DIRECTORY")
    for name, _ in planted_faults.patches_of(tree.Tree(root)) if root else []:
        count.commands["planted faults"][f"planted.{name}"] = 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    modes = parser.add_subparsers(dest="mode", required=True)
    counting = modes.add_parser("count")
    counting.add_argument("--list-only", action="store_true", help="run no other commands")
    counting.add_argument("--save", metavar="FILE")
    counting.add_argument("passes", nargs="+", metavar="PASS")
    comparing = modes.add_parser("compare")
    comparing.add_argument("--moved", action="append", default=[], metavar="PATTERN")
    comparing.add_argument("files", nargs=2, metavar="FILE")
    given = parser.parse_args()
    if given.mode == "compare":
        first, second = (test_count.Count.read(file) for file in given.files)
        sys.exit(test_count.compare(first, second, given.moved))
    count = test_count.Count()
    for text in given.passes:
        count_pass(Pass.parse(text), given.list_only, count)
    test_count.show(count)
    if given.save:
        count.save(given.save)
    sys.exit(0 if count.is_sound() else 1)


if __name__ == "__main__":
    main()
