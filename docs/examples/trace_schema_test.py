# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that a trace follows docs/trace.md: usage trace_schema_test.py PAGE TRACE...

The page is the list of members and kinds: a name that the page does not have is a fault.
"""

import json
import re
import sys


class Fault(Exception):
    """A line that breaks the format."""


def require(condition, what):
    """Raises Fault."""
    if not condition:
        raise Fault(what)


def words_of(page):
    """Returns the texts in back quotes of a page, and their words."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    quoted = re.findall(r"`([^`\n]+)`", text)
    return set(quoted) | {word for part in quoted for word in re.split(r"\W+", part)}


def check_values(values, words):
    """A list of values: `first` has up to 8 of `count` elements."""
    for value in values:
        require(set(value) <= words, f"members of a value: {set(value) - words}")
        extent = 1
        for axis in value["shape"]:
            extent *= axis
        if "first" in value:
            require(value["count"] == extent, "count is the product of the shape")
            require(len(value["first"]) == min(8, value["count"]), "first elements")
            require(re.fullmatch("[0-9a-f]{16}", value["digest"]), "digest")


def check_step(line, steps, agents, words):
    """A step has a known agent, and waits for earlier steps."""
    require(line["step"] == len(steps), "steps are numbered in order")
    require(set(line) <= words, f"members of a step: {set(line) - words}")
    require(line["kind"] in words, f"kind {line['kind']}")
    require(line["agent"] in agents, f"agent {line['agent']} without a line")
    for name in ("stream", "for"):
        require(name not in line or line[name] in agents, f"{name} without a line")
    for before in line.get("after", []):
        require(before < line["step"], "a step waits for earlier steps")
    for name in ("brings", "gets", "reads", "writes"):
        check_values(line.get(name, []), words)
    steps.append(line)


def check_value_of(line, steps):
    """The elements of a value without elements."""
    value = steps[line["value_of"]][line["list"]][line["index"]]
    require("first" not in value, "the elements are given once")
    require(len(line["first"]) == min(8, value["count"]), "first elements")
    value["first"] = line["first"]


def check(path, words):
    """Raises Fault or an error of Python."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    require(text.endswith("\n"), "the last line has an end")
    lines = [json.loads(line) for line in text.splitlines()]
    require(lines[0].get("belfry_trace") == 1, "version 1")
    require(set(lines[0]) <= words, "members of the first line")
    steps, agents = [], {}
    for number, line in enumerate(lines[1:], 2):
        try:
            if "step" in line:
                check_step(line, steps, agents, words)
            elif "value_of" in line:
                check_value_of(line, steps)
            elif "agent" in line:
                require(set(line) <= words, "members of an agent")
                agents[line["agent"]] = line
            else:
                require(set(line) <= words, f"members of line {number}: {set(line) - words}")
        except Exception as error:
            raise Fault(f"{path}:{number}: {error!r}: {json.dumps(line)[:200]}") from error
    require(lines[-1].get("end") is True, "the last line")
    require(lines[-1]["steps"] == len(steps), "the number of steps")
    print(f"{path}: {len(steps)} steps, {len(agents)} agents")


def main():
    """Checks each trace."""
    words = words_of(sys.argv[1])
    for path in sys.argv[2:]:
        check(path, words)


if __name__ == "__main__":
    main()
