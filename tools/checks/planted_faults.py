# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""The planted faults of proptests/mutants/planted.

A planted fault is a patch of one file, and names a test that must fail with it. The patch begins
with a sentence about the fault. The next line names the program of the test and the test. A further
line is needed if the test ends in another way than by a failure:

    The deadlock message counts every member of a collective as arrived.
    Test: sim_test Engine.AMissingMemberIsADeadlockThatNamesTheHeads
    Ends: by a crash
    --- a/backends/sim/src/engine/engine_waits.cpp
    -    line of the file
    +    line with the fault

A line @@ is between two hunks. A hunk is found by its text, which must occur exactly once in the
file.
"""

import dataclasses
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "proptests/mutants"))

import guarded_copy  # noqa: E402

FOLDER = "proptests/mutants/planted/"

FIELD = re.compile(r"^(Test|Ends): (.+)$", re.MULTILINE)

FAILS = "by a failure"
CRASHES = "by a crash"
HANGS = "at its time limit"
ENDS = (FAILS, CRASHES, HANGS)


class BadPatch(Exception):
    """The reason why a patch is no planted fault."""


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    says: str
    program: str
    test: str
    ends: str
    file: str
    hunks: tuple

    def plant(self, text):
        """Returns the text of the file with the fault. Throws BadPatch if a hunk does not fit."""
        for old, new in self.hunks:
            if text.count(old) != 1:
                raise BadPatch(f"found {text.count(old)} times in {self.file}, not once: {old!r}")
            text = text.replace(old, new)
        return text


def parse(name, patch):
    """Returns the fault that a patch describes. Throws BadPatch."""
    head = patch.split("\n--- ", 1)[0]
    fields = dict(FIELD.findall(head))
    says = FIELD.sub("", head).strip()
    changed = guarded_copy.OLD_FILE.findall(patch)
    program, _, test = fields.get("Test", "").partition(" ")
    if not says:
        raise BadPatch("no sentence says what goes wrong")
    if not test:
        raise BadPatch("no line `Test: PROGRAM SUITE.NAME`")
    if "." not in test:
        raise BadPatch(f"{test} is not the name of a test: Suite.Name")
    if len(changed) != 1:
        raise BadPatch("a planted fault changes one file")
    ends = fields.get("Ends", FAILS)
    if ends not in ENDS:
        raise BadPatch(f"a test ends {', '.join(ENDS)}; not {ends}")
    hunks = tuple(guarded_copy.hunks_of(patch))
    if any(before == after for before, after in hunks):
        raise BadPatch("a hunk changes nothing")
    return Fault(name, says, program, test, ends, changed[0], hunks)


def patches_of(files):
    """Returns (name, text) of each patch of a tree."""
    names = [name for name in files.files
             if name.startswith(FOLDER) and name.endswith(".patch")]
    return [(pathlib.PurePath(name).stem, files.text(name)) for name in names]
