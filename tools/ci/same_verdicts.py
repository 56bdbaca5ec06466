#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Compares files of verdicts about the same programs, from builds with different compilers.

Each line of a file is a verdict in JSON. The lines must be equal, byte for byte, up to facts about
accesses to host memory, which an optimizing compiler chooses: the compiler joins reads and writes
of a variable, or drops them.
"""

import json
import sys

HOST_BYTES = "replicas share no host bytes that one of them writes"


def side(access):
    """Returns the agent and the file of an access to host memory: the rest is the compiler's."""
    return {"agent": access["agent"], "file": access["place"].split(":")[0]}


def normalised(line):
    """Returns the verdict in a line without the compiler's choices, as JSON."""
    verdict = json.loads(line)
    for condition in verdict["conditions"]:
        if condition["name"] == HOST_BYTES:
            # The number of accesses, or of pairs.
            del condition["evidence"]
    races = []
    for race in verdict["races"]:
        if race["subject"].endswith("of host memory"):
            race = {"subject": "host memory", "missing": race["missing"],
                    "first": side(race["first"]), "second": side(race["second"])}
        if race not in races:
            races.append(race)
    verdict["races"] = races
    return json.dumps(verdict)


def differences(one, other):
    """Returns a text for each line that differs between two files."""
    first = [normalised(line) for line in one.splitlines()]
    second = [normalised(line) for line in other.splitlines()]
    found = [f"-{a}\n+{b}" for a, b in zip(first, second) if a != b]
    if len(first) != len(second):
        found.append(f"{len(first)} verdicts and {len(second)}")
    return found


def main(paths):
    texts = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    found = differences(*texts)
    print("\n".join(found) or f"{len(texts[0].splitlines())} verdicts are the same")
    sys.exit(1 if found or not texts[0] else 0)


if __name__ == "__main__":
    main(sys.argv[1:3])
