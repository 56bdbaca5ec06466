#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a command on one CPU: on_one_cpu.py <command> [argument ...]

Threads that take turns run no faster on several CPUs, and a turn that passes between two CPUs wakes
one of them: proptests_sim took 18 s of processor time on two CPUs and 10 s on one.
"""

import os
import sys

if hasattr(os, "sched_setaffinity"):
    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpus[os.getpid() % len(cpus)]})
os.execv(sys.argv[1], sys.argv[1:])
