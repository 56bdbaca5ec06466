# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that core and the simulator use no function with results that differ between runs.

belfry::testing, with the property suites, has a single clock: the watchdog's.
"""

import re

import cpp
import tree

PLACES = re.compile(r"core/(include|src)/|core/extras/|backends/sim/")
WITHOUT_CLOCKS = re.compile(r"proptests/(include|src|suites)/(?!.*_test\.)")

FORBIDDEN = [
    ("an unordered container", r"\bunordered_(multi)?(map|set)\b"),
    ("a clock", r"\bchrono\b|\b(clock_gettime|gettimeofday|sleep_for|sleep_until)\b"),
    ("ambient randomness", r"\b(random_device|mt19937(_64)?|default_random_engine|rand|drand48)\b"),
    ("the environment", r"\b(secure_)?getenv\b|\benviron\b"),
    ("a thread-local variable", r"\bthread_local\b"),
    ("a mutable static variable",
     r"^\s*(inline\s+)?static\s+(?!const\b|constexpr\b|consteval\b|inline\b|assert)"
     r"(?:[\w:]+(?:<[^;()]*>)?[\s*&]+)+\w+\s*(?:\[[^\]]*\]\s*)?[={;]"),
    ("the time of the build", r"\b__(DATE|TIME|TIMESTAMP)__\b"),
]

# The exceptions: (file, what). The current slot is set by the runner at each switch, and has the
# default strategy at its bottom; code outside contexts has a call site of its own; a pool of stacks
# and a watch of runs cannot influence results; a tap of steps reads values for tests, and a
# source of traces gives files to write. CUDA's
# functions have no parameter for their state, and some of it belongs to threads. Compilers call the
# run time of watched code with an address alone; the run time tells threads apart, and keeps what
# was looked up. Groups over MPI measure the silence of other processes, a process has one MPI, and
# a forgotten launcher shows in the environment. The clock of the watchdog in belfry::testing
# measures the time without a step of a run.
EXCEPTIONS = {
    ("core/src/backend/carrier.h", "a thread-local variable"),
    ("core/src/backend/current_slot.cpp", "a thread-local variable"),
    ("core/src/strategies/current.cpp", "a thread-local variable"),
    ("core/include/belfry/detail/step_tap.h", "a thread-local variable"),
    ("core/src/run/rounds/strategy_step.cpp", "a thread-local variable"),
    ("core/include/belfry/detail/trace_source.h", "a thread-local variable"),
    ("core/src/trace/trace_file.cpp", "a thread-local variable"),
    ("core/src/backend/stack_pool.cpp", "a mutable static variable"),
    ("backends/sim/watch/src/accesses.cpp", "a mutable static variable"),
    ("backends/sim/watch/src/clock_calls.cpp", "a clock"),
    ("backends/sim/watch/src/source_lines.cpp", "a mutable static variable"),
    ("backends/sim/watch/src/host_watcher.cpp", "a mutable static variable"),
    ("backends/sim/watch/src/host_watcher.cpp", "a thread-local variable"),
    ("backends/sim/watch/src/host_watcher.h", "a thread-local variable"),
    ("backends/sim/watch/src/lock_calls.cpp", "a thread-local variable"),
    ("backends/sim/watch/src/pointer_calls.cpp", "a mutable static variable"),
    ("backends/sim/driver/src/machine.cpp", "a mutable static variable"),
    ("backends/sim/src/explore/present_body.cpp", "a thread-local variable"),
    ("backends/sim/src/explore/present_body.h", "a thread-local variable"),
    ("backends/sim/driver/src/thread_state.cpp", "a thread-local variable"),
    ("core/extras/mpi/src/group.cpp", "the environment"),
    ("core/extras/mpi/src/polling.cpp", "a clock"),
    ("core/extras/mpi/src/session.cpp", "a mutable static variable"),
    ("proptests/src/patrol.cpp", "a clock"),
}


def rules_for(name):
    """Returns the rules for the file `name`."""
    if WITHOUT_CLOCKS.match(name):
        return [rule for rule in FORBIDDEN if rule[0] == "a clock"]
    return FORBIDDEN if PLACES.match(name) and not tree.is_test(name) else []


def check(files, report):
    for name in files.code():
        rules = rules_for(name)
        for number, line in enumerate(cpp.blank_out(files.text(name)).splitlines() if rules
                                      else (), 1):
            for what, pattern in rules:
                if re.search(pattern, line) and (name, what) not in EXCEPTIONS:
                    report.error(f"{name}:{number}", what)
