#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Makes one mutant after another: plants a fault in a copy of the tree and runs the named test.

The copy and its build stay in build/mutants, so that the build compiles only the changed file.
Every named test must pass before the first fault is planted. A mutant is killed if its test fails,
or ends in the way that the patch names. Every other end fails the run: a test that passes, a crash,
a time limit, a compile error, a patch that no longer fits.

usage: run_mutants.py [NAME ...]
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import planted_faults
import tree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "proptests/mutants"))

import expect_killed  # noqa: E402

PASSES = "passes"
DOES_NOT_RUN = "does not run"
TEST_SECONDS = 300
# Properties have as many cases as for the mutants of `tools/go test`.
ENVIRONMENT = {"RC_PARAMS": "max_success=300"}


class MutantBuild:
    """A copy of a tree and its build."""

    def __init__(self, root):
        self.root = root
        self.copy = root / "build/mutants/source"
        self.test_seconds = TEST_SECONDS

    def refresh(self, names):
        """Makes the copy equal to the tree. An equal file keeps its time of change."""
        for path in sorted(self.copy.rglob("*")):
            name = path.relative_to(self.copy).as_posix()
            if path.is_file() and name not in names and not name.startswith("build/"):
                path.unlink()
        for name in names:
            source, target = self.root / name, self.copy / name
            if target.is_file() and target.read_bytes() == source.read_bytes():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)

    def configure(self):
        return self._call(["cmake", "--preset", "dev"])

    def compile(self, *programs):
        """Returns the output of a build that fails, and an empty text after a success."""
        return self._call(["cmake", "--build", "--preset", "dev", "--target", *programs])

    def program(self, name):
        return self.copy / "build/dev/bin" / name

    def _call(self, command):
        run = subprocess.run(command, cwd=self.copy, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        return run.stdout if run.returncode != 0 else ""

    def run_test(self, program, test):
        """Returns how the test ended, and its output."""
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / "report.json"
            command = [self.program(program), f"--gtest_filter={test}",
                       f"--gtest_output=json:{output}"]
            try:
                run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     timeout=self.test_seconds, env=os.environ | ENVIRONMENT)
            except subprocess.TimeoutExpired as late:
                return planted_faults.HANGS, (late.stdout or b"").decode(errors="replace")
            printed = run.stdout.decode(errors="replace")
            # A test that calls exit leaves no report either.
            if run.returncode < 0 or not output.exists():
                return planted_faults.CRASHES, f"{printed}\nstatus {run.returncode}"
            report = json.loads(output.read_text(encoding="utf-8"))
        ran, failed = expect_killed.failures_of(report)
        if ran != [test]:
            return DOES_NOT_RUN, f"ran {ran}, not {test}"
        return (planted_faults.FAILS if failed else PASSES), printed


def tail(text, lines=15):
    return "\n".join(f"    {line}" for line in text.rstrip().splitlines()[-lines:])


def try_fault(build, fault):
    """Returns whether the mutant is killed, the word for it, and the output to show."""
    path = build.copy / fault.file
    if not path.is_file():
        return False, "does not fit", f"there is no file {fault.file}"
    sound = path.read_text(encoding="utf-8")
    try:
        path.write_text(fault.plant(sound), encoding="utf-8")
        printed = build.compile(fault.program)
        if printed:
            return False, "does not compile", printed
        end, printed = build.run_test(fault.program, fault.test)
    except planted_faults.BadPatch as error:
        return False, "does not fit", str(error)
    finally:
        path.write_text(sound, encoding="utf-8")
    if end == fault.ends:
        return True, f"killed {end}", ""
    word = "SURVIVED" if end == PASSES else f"ends {end}"
    return False, "does not run" if end == DOES_NOT_RUN else word, printed


def passes_without_faults(build, faults):
    """Whether every named test exists and passes without a fault."""
    printed = build.configure() or build.compile(*sorted({each.program for each in faults}))
    if printed:
        print(f"without a fault the copy does not build\n{tail(printed)}")
        return False
    sound = True
    for program, test in sorted({(each.program, each.test) for each in faults}):
        end, printed = build.run_test(program, test)
        if end != PASSES:
            print(f"{program}: without a fault {test} ends {end}\n{tail(printed)}")
            sound = False
    return sound


def read_faults(files, wanted):
    """Returns the faults, and a line for each patch that cannot be read."""
    faults, problems = [], []
    patches = planted_faults.patches_of(files)
    for name in sorted(set(wanted) - {name for name, _ in patches}):
        problems.append(f"{name}: there is no such patch")
    for name, patch in patches:
        if wanted and name not in wanted:
            continue
        try:
            faults.append(planted_faults.parse(name, patch))
        except planted_faults.BadPatch as error:
            problems.append(f"{name}: {error}")
    return faults, problems


def run(build, files, wanted=()):
    """Plants the faults of a tree, or those wanted; returns the exit status."""
    faults, problems = read_faults(files, wanted)
    for problem in problems:
        print(problem)
    if not faults:
        print("no planted fault to try")
        return 1
    build.refresh(set(files.files))
    if not passes_without_faults(build, faults):
        return 1
    width = max(len(fault.name) for fault in faults)
    alive = 0
    for fault in faults:
        killed, word, printed = try_fault(build, fault)
        print(f"{fault.name:{width}}  {word:22}  {fault.program}: {fault.test}", flush=True)
        if not killed:
            alive += 1
            print(tail(printed), flush=True)
    print(f"{len(faults)} planted faults, {len(faults) - alive} killed, {alive} not, "
          f"{len(problems)} patches that cannot be read")
    return 1 if alive or problems else 0


def main():
    files = tree.Tree(pathlib.Path(__file__).resolve().parents[2])
    sys.exit(run(MutantBuild(files.root), files, sys.argv[1:]))


if __name__ == "__main__":
    main()
