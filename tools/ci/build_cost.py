#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Builds from nothing, and compares the processor time and the memory of compilations with limits.

The options behind `--` configure the build. Objects of ccache are not used. The output names the
three most expensive compilations. Exit status: 0 ok, 1 a limit is exceeded or the build fails.
"""

import argparse
import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys

MOST_BYTES = 1.2e9  # Of a compilation; the pool of jobs in BelfryOptions.cmake counts on it.


@dataclasses.dataclass
class Compilation:
    """A compilation: processor time of user and system, and the largest resident set."""
    seconds: float
    kibibytes: int
    output: str

    def __str__(self):
        return f"  {self.seconds:6.1f} CPU-s {self.kibibytes * 1024 / 1e9:5.2f} GB  {self.output}"


def launch(log, command):
    """Runs a compiler, appends a line to the log, and returns the exit status of the compiler."""
    pid = os.posix_spawnp(command[0], command, os.environ)
    _, status, used = os.wait4(pid, 0)
    output = command[command.index("-o") + 1] if "-o" in command else command[-1]
    with open(log, "a", encoding="utf-8") as file:
        file.write(f"{used.ru_utime + used.ru_stime:.2f} {used.ru_maxrss} {output}\n")
    return os.waitstatus_to_exitcode(status)


def read(log):
    """Returns the compilations in a log."""
    lines = (line.rstrip("\n").split(" ", 2)
             for line in log.read_text(encoding="utf-8").splitlines())
    return [Compilation(float(seconds), int(size), output) for seconds, size, output in lines]


def report(compilations, most_seconds):
    """Returns (text, whether all limits are kept). Without `most_seconds` memory alone counts."""
    seconds = sum(each.seconds for each in compilations)
    largest = max(compilations, key=lambda each: each.kibibytes)
    slow = most_seconds is not None and seconds > most_seconds
    large = largest.kibibytes * 1024 > MOST_BYTES
    limit = "" if most_seconds is None else f" of {most_seconds}"
    lines = [f"{len(compilations)} compilations: {seconds:.0f}{limit} CPU-s"
             f"{', TOO MUCH' if slow else ''}; at most {largest.kibibytes * 1024 / 1e9:.2f} of "
             f"{MOST_BYTES / 1e9} GB{', TOO MUCH' if large else ''}"]
    lines += map(str, sorted(compilations, key=lambda each: -each.seconds)[:3])
    if large:
        lines += ["the largest:"]
        lines += map(str, sorted(compilations, key=lambda each: -each.kibibytes)[:3])
    return "\n".join(lines), not slow and not large


def build(folder, target, options):
    """Builds in an empty folder and returns the compilations."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    log = folder.resolve() / "compilations.log"
    launcher = ";".join([sys.executable, str(pathlib.Path(__file__).resolve()), "--launch",
                         str(log)])
    environment = os.environ | {"CCACHE_DISABLE": "1"}
    with open(folder / "output.log", "w", encoding="utf-8") as output:
        for command in (["cmake", "-B", folder, "-G", "Ninja",
                         f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}", *options],
                        ["rm", "-f", log],  # CMake tries the compiler.
                        ["cmake", "--build", folder, *(["--target", target] if target else [])]):
            if subprocess.run(command, env=environment, stdout=output, stderr=output).returncode:
                sys.exit(f"the build fails; {folder}/output.log has the output")
    return read(log)


def main(arguments):
    if arguments[:1] == ["--launch"]:
        return launch(arguments[1], arguments[2:])
    usage = "build_cost.py FOLDER [--cpu-seconds N] [--target NAME] -- OPTIONS OF CMAKE"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], usage=usage)
    parser.add_argument("folder", type=pathlib.Path, help="the build tree, made anew")
    parser.add_argument("--cpu-seconds", type=int, help="the limit for all compilations")
    parser.add_argument("--target", help="builds this target alone")
    split = arguments.index("--") if "--" in arguments else len(arguments)
    given = parser.parse_args(arguments[:split])
    text, kept = report(build(given.folder, given.target, arguments[split + 1:]),
                        given.cpu_seconds)
    print(text)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
