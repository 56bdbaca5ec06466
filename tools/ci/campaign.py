#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the long checks, which take too long for `tools/go test`: all steps or the named ones.

A step that passes leaves build/campaign/STEP.passed, a record of the inputs: digests of files in
the working tree (not of HEAD), versions, settings. The next campaign skips a step with equal
inputs. After an interruption the same command goes on with the steps that have not passed. The
output of a step is in build/campaign/STEP.log. Exit status: 0 ok, 1 a step failed, 2 usage.
"""

import argparse
import dataclasses
import datetime
import fnmatch
import functools
import hashlib
import json
import os
import pathlib
import platform
import subprocess
import sys
import time

import campaign_steps

# Variables that any build or test may read.
ENVIRONMENT = ("CFLAGS", "CXXFLAGS", "LDFLAGS", "CUDACXX", "CUDAFLAGS", "RC_PARAMS",
               "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "BELFRY_TESTING_CARRIER",
               "BELFRY_TESTING_SHARE_COPIES", "BELFRY_TESTING_FUNCTIONS_OF")
NOT_APPLICABLE = 77


@dataclasses.dataclass
class State:
    """The state of a step: `word` is passed, changed, not passed or never run."""
    word: str
    detail: str = ""


def matches(path, patterns):
    """Says whether the last matching pattern includes the path."""
    chosen = False
    for pattern in patterns:
        if fnmatch.fnmatchcase(path, pattern.removeprefix("!")):
            chosen = not pattern.startswith("!")
    return chosen


def file_digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@functools.cache
def version_of(tool):
    """Returns the output of `TOOL --version`. $NAME is the program in the variable NAME."""
    program = os.environ.get(tool[1:], "") if tool.startswith("$") else tool
    if not program:
        return ""
    try:
        run = subprocess.run([program, "--version"], capture_output=True, text=True,
                             env=os.environ | {"LC_ALL": "C.UTF-8"})
    except OSError:
        return "missing"
    return run.stdout or run.stderr


@functools.cache
def versions_of_libraries(root):
    """Returns {package: version} of the libraries in tools/apt-packages.txt; {} without dpkg."""
    lines = (root / "tools/apt-packages.txt").read_text(encoding="utf-8").splitlines()
    names = {words[1] for words in map(str.split, lines)
             if len(words) == 2 and words[0] != "#" and words[1].endswith("-dev")}
    try:
        run = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *sorted(names)],
                             capture_output=True, text=True)
    except OSError:
        return {}
    return dict(line.split(" ", 1) for line in run.stdout.splitlines())


class Campaign:
    """Steps, and the records of passed steps in build/campaign."""

    def __init__(self, root, steps):
        self.root = pathlib.Path(root)
        self.steps = {step.name: step for step in steps}
        self.logs = self.root / "build/campaign"

    def choose(self, wanted):
        """Returns the names of all steps or of those wanted; `asan` stands for every `asan.x`."""
        chosen = {} if wanted else dict.fromkeys(self.steps)
        for each in wanted:
            found = [name for name in self.steps if each in (name, name.split(".")[0])]
            if not found:
                raise KeyError(each)
            chosen |= dict.fromkeys(found)
        return list(chosen)

    def settings(self, step):
        return {name: os.environ.get(name) or usual for name, usual in step.settings.items()}

    def proves(self, name):
        step = self.steps[name]
        return step.proves.format(**self.settings(step))

    def files(self):
        """Returns the files of the working tree, ignored files left out."""
        listing = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=self.root, capture_output=True, check=True)
        names = listing.stdout.decode().split("\0")
        return sorted({name for name in names if name and (self.root / name).is_file()})

    def inputs(self, name):
        """Returns the inputs of a step: {name: digest or value}."""
        step = self.steps[name]
        inputs = {path: file_digest(self.root / path)
                  for path in self.files() if matches(path, step.inputs)}
        inputs |= {f"version of {tool}": version_of(tool) for tool in step.tools}
        inputs |= {f"package {package}": version
                   for package, version in versions_of_libraries(self.root).items()}
        inputs |= {f"variable {each}": os.environ.get(each, "") for each in ENVIRONMENT}
        inputs |= {f"variable {each}": value for each, value in self.settings(step).items()}
        return inputs | {"the step's script": step.script, "processor": platform.machine()}

    def record(self, name):
        return self.logs / f"{name}.passed"

    def log(self, name):
        return self.logs / f"{name}.log"

    def recorded(self, name):
        """Returns the record of a step, or None."""
        try:
            saved = json.loads(self.record(name).read_text(encoding="utf-8"))
            return saved if saved["digest"] == digest_of(saved["inputs"]) else None
        except (OSError, ValueError, KeyError):
            return None

    def state(self, name):
        saved = self.recorded(name)
        if not saved:
            return State("not passed" if self.log(name).exists() else "never run")
        inputs = self.inputs(name)
        if saved["digest"] == digest_of(inputs):
            return State("passed", saved["when"])
        changed = sorted(what for what in saved["inputs"].keys() | inputs.keys()
                         if saved["inputs"].get(what) != inputs.get(what))
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        return State("changed", f"{changed[0]}{more}")

    def run(self, name):
        """Runs a step; returns ok, skipped or FAILED. Leaves a record after ok."""
        step, inputs = self.steps[name], self.inputs(name)
        self.logs.mkdir(parents=True, exist_ok=True)
        script = f"set -euo pipefail\nsource tools/ci/common.sh\n{step.script}"
        with open(self.log(name), "wb") as log:
            status = subprocess.run(["bash", "-c", script], cwd=self.root, stdout=log,
                                    stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                    env=os.environ | self.settings(step)).returncode
        if status == NOT_APPLICABLE:
            return "skipped"
        if status != 0:
            self.record(name).unlink(missing_ok=True)
            return "FAILED"
        # If an input changed during the run, the step may have passed on the old or the new text.
        if self.inputs(name) == inputs:
            self.remember(name, inputs)
        return "ok"

    def remember(self, name, inputs):
        when = datetime.datetime.now().isoformat(" ", "minutes")
        text = json.dumps({"digest": digest_of(inputs), "when": when, "inputs": inputs}, indent=1)
        # The rename leaves the whole record or none.
        partial = self.record(name).with_suffix(".partial")
        partial.write_text(text + "\n", encoding="utf-8")
        partial.replace(self.record(name))


def digest_of(inputs):
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def show_list(campaign, names):
    for name in names:
        state = campaign.state(name)
        known = f"{state.word}: {state.detail}" if state.detail else state.word
        print(f"{name:14} {campaign.proves(name)}\n{'':14} {known}")


def run_step(campaign, name, again):
    """Runs a step unless its inputs have passed; returns the verdict's text, and a failure."""
    state, start = campaign.state(name), time.monotonic()
    if state.word == "passed" and not again:
        return f"unchanged since {state.detail}", False
    verdict = campaign.run(name)
    return f"{verdict:8} {int(time.monotonic() - start):5} s", verdict == "FAILED"


def run_steps(campaign, names, again, keep_going):
    """Runs the steps whose inputs have not passed; returns the exit status."""
    table, any_failed = [], False
    for name in names:
        said, failed = run_step(campaign, name, again)
        table.append(f"{name:14} {said}  {campaign.proves(name)}")
        print(table[-1], flush=True)
        any_failed |= failed
        if failed:
            text = campaign.log(name).read_text(encoding="utf-8", errors="replace")
            print("\n".join(f"    {line}" for line in text.splitlines()[-25:]), flush=True)
            if not keep_going:
                break
    print("== campaign", *table, sep="\n")
    return 1 if any_failed else 0


def main(arguments, campaign):
    parser = argparse.ArgumentParser(prog="tools/go campaign",
                                     description=__doc__.split("\n", 1)[0])
    parser.add_argument("--again", action="store_true", help="run unchanged steps as well")
    parser.add_argument("--keep-going", action=argparse.BooleanOptionalAction, default=True,
                        help="run the other steps after one that failed")
    parser.add_argument("steps", nargs="*", metavar="STEP",
                        help="`list` names the steps and says which have passed")
    given = parser.parse_args(arguments)
    wants_list = given.steps[:1] == ["list"]
    try:
        names = campaign.choose(given.steps[1:] if wants_list else given.steps)
    except KeyError as error:
        parser.error(f"no step {error}; try list")
    if wants_list:
        show_list(campaign, names)
        return 0
    return run_steps(campaign, names, given.again, given.keep_going)


if __name__ == "__main__":
    here = pathlib.Path(__file__).resolve()
    try:
        sys.exit(main(sys.argv[1:], Campaign(here.parents[2], campaign_steps.STEPS)))
    except KeyboardInterrupt:
        sys.exit("campaign: cut off; the same command goes on with what has not passed")
