#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a program under mpirun as another user than root, in a folder of the user.

usage: as_another_user.py PROGRAM MPIRUN...
"""

import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile


def environment_in(folder):
    """Files that options of sanitizers name are copied: the user may not read the tree."""
    environment = os.environ | {"HOME": str(folder), "TMPDIR": str(folder)}
    parts = environment.get("LSAN_OPTIONS", "").split(":")
    for index, part in enumerate(parts):
        if part.startswith("suppressions="):
            parts[index] = f"suppressions={shutil.copy(part.partition('=')[2], folder)}"
    return environment | {"LSAN_OPTIONS": ":".join(parts)}


def main():
    program, *mpirun = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        copy = shutil.copy(program, folder)
        environment = environment_in(folder)
        user = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            for path in (folder, *folder.iterdir()):
                os.chown(path, nobody.pw_uid, nobody.pw_gid)
            user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        command = [*mpirun, "-n", "3", copy, "--gtest_brief=1"]
        return subprocess.run(command, cwd=folder, check=False, env=environment, **user).returncode


if __name__ == "__main__":
    sys.exit(main())
