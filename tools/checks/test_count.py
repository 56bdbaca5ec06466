# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""A count of executed tests, its table, and the comparison of two counts."""

import collections
import fnmatch
import json
import pathlib

BACKENDS = ("sim", "cuda host half", "host/core", "tools and docs")


class Count:
    """Executed tests and problems. Each part is {kind: {name: number of runs}}."""

    PARTS = ("tests", "sanitized", "passes", "cases", "commands")
    PROBLEMS = ("skipped", "failing", "problems")

    def __init__(self):
        for part in self.PARTS:
            setattr(self, part, collections.defaultdict(collections.Counter))
        for part in self.PROBLEMS:
            setattr(self, part, [])

    @staticmethod
    def read(path):
        saved, count = json.loads(pathlib.Path(path).read_text(encoding="utf-8")), Count()
        for part in Count.PARTS:
            for kind, names in saved[part].items():
                getattr(count, part)[kind].update(names)
        for part in Count.PROBLEMS:
            getattr(count, part).extend(saved[part])
        return count

    def save(self, path):
        parts = {part: getattr(self, part) for part in self.PARTS + self.PROBLEMS}
        pathlib.Path(path).write_text(json.dumps(parts, indent=1, sort_keys=True) + "\n",
                                      encoding="utf-8")

    def is_sound(self):
        return not self.failing and not self.problems


def show(count):
    """Prints the table of a count."""
    row = "{:16} {:>9} {:>9} {:>9} {:>15}".format
    print(row("", "tests", "runs", "sanitized", "property cases"))
    for backend in [*BACKENDS, *sorted(set(count.tests) - set(BACKENDS))]:
        names = count.tests.get(backend, {})
        sanitized = {name for kind, tests in count.sanitized.items()
                     if kind.startswith(backend + ", ") for name in tests}
        cases = sum(count.cases.get(backend, {}).values())
        print(row(backend, len(names), sum(names.values()), len(sanitized), cases))
    for kind, names in sorted(count.commands.items()):
        print(f"{kind}: {len(names)}")
    for way, names in sorted(count.passes.items()):
        print(f"pass: {way}: {len(names)} tests")
    for part in Count.PROBLEMS:
        for line in getattr(count, part):
            print(f"{part}: {line}")


def compare_part(part, first, second, moved):
    """Prints the names in only one of two counts; returns the number of names lost."""
    lost = 0
    for kind in sorted({**first, **second}):
        before, after = +first.get(kind, collections.Counter()), +second.get(
            kind, collections.Counter())
        print(f"{f'{part}: {kind}':60} {len(before):6} -> {len(after):6}, "
              f"in all {before.total():7} -> {after.total():7}")
        for name in sorted(before.keys() - after.keys()):
            is_moved = any(fnmatch.fnmatchcase(name, pattern) for pattern in moved)
            print(f"  {'moved' if is_moved else 'only in the first'}: {name}")
            lost += not is_moved
        for name in sorted(after.keys() - before.keys()):
            print(f"  only in the second: {name}")
    return lost


def compare(first, second, moved=()):
    """Prints how two counts differ; returns the exit status."""
    lost = sum(compare_part(part, getattr(first, part), getattr(second, part), moved)
               for part in Count.PARTS)
    for part in Count.PROBLEMS:
        for label, count in (("first", first), ("second", second)):
            for line in getattr(count, part):
                print(f"{part} in the {label} count: {line}")
    print(f"only in the first: {lost}")
    return 1 if lost or not first.is_sound() or not second.is_sound() else 0
