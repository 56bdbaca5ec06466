#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that every planted fault fits the tree: its file, its program and its test exist, and each
hunk occurs exactly once. The campaign runs the tests."""

import re

import planted_faults
import tree

PROGRAM = re.compile(r"\bbelfry_test\((\w+)")
TEST = re.compile(r"\b(?:(?:TYPED_)?TEST(?:_F|_P)?|RC_GTEST(?:_FIXTURE)?_PROP)\(\s*(\w+),\s*(\w+)")
# A test with parameters has a prefix and a suffix: Carriers/Executors.Meet/fiber.
PARAMETER = re.compile(r"^\w+/|/\w+$")
# A suite with types has a suffix: Crossed/ring.ReductionsHaveTheStatedBits.
TYPE = re.compile(r"/\w+(?=[.])")


def check(files, report):
    patches = planted_faults.patches_of(files)
    if not patches:
        return
    tests = {f"{suite}.{test}" for name in files.code() if tree.is_test(name)
             for suite, test in TEST.findall(files.text(name))}
    programs = {program for name in files.files if name.endswith("CMakeLists.txt")
                for program in PROGRAM.findall(files.text(name))}
    for name, patch in patches:
        where = f"{planted_faults.FOLDER}{name}.patch"
        try:
            fault = planted_faults.parse(name, patch)
            if fault.file not in files.files:
                raise planted_faults.BadPatch(f"there is no file {fault.file}")
            fault.plant(files.text(fault.file))
        except planted_faults.BadPatch as error:
            report.error(where, str(error))
            continue
        if fault.program not in programs:
            report.error(where, f"no belfry_test is named {fault.program}")
        if not tests & {PARAMETER.sub("", fault.test), TYPE.sub("", fault.test)}:
            report.error(where, f"there is no test {fault.test}")


if __name__ == "__main__":
    tree.main(check, "planted faults")
