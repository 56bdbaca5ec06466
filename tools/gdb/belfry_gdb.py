# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Commands of gdb for the replicas of a program, in a running program and in a core file.

  (gdb) source PREFIX/share/belfry/gdb/belfry_gdb.py
  (gdb) replicas
  (gdb) replica 1 backtrace

docs/debugging.md explains the commands.
"""

import os
import re
import sys

import gdb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from belfry_memory import (DETAIL, class_of, first_of, items, last_word, load_types, object_at,
                           owned, text_of)
from belfry_stacks import Registers, Stack

ENDED = {"kEnded": "", "kThrew": "by an exception", "kCancelled": "because the run failed",
         "kAbandoned": "abandoned", "kStalled": "left behind by the watchdog"}


class Run:
    """A call of `run` that has not returned."""

    def __init__(self, address):
        kind, begin = class_of(address)
        self.value = object_at(begin, kind)
        self.is_fibers, self.ready = False, set()
        if kind == "TurnScheduler":
            self.carriers = items(self.value["carriers_"])
            self.is_fibers = self.kind_of_carriers() == "FiberCarriers"
            self.ready = self.queue(self.value["turns_"])
        else:
            self.carriers = items(self.value["workers_"])
        self.carriers = [int(carrier) for carrier in self.carriers]
        kind, begin = class_of(int(self.value["job_"]))
        if kind == "TrackedRun":
            job = object_at(begin, kind)["job_"].referenced_value()
            kind, begin = class_of(int(job.address))
        self.runner = object_at(begin, kind) if kind == "ReplicaRunner" else None

    def kind_of_carriers(self):
        kind, begin = class_of(owned(self.value["kind_"]))
        if kind == "TrackedCarriers":
            kind, _ = class_of(owned(object_at(begin, kind)["inner_"]))
        return kind

    @staticmethod
    def queue(turns):
        """Returns the replicas that can go on, before the turn of each."""
        ready = items(turns["queue_"])[:int(turns["ready_"])]
        drawn = turns["drawn_"]
        ids = drawn["ids_"].address.cast(gdb.lookup_type("int").pointer())
        most = drawn["ids_"].type.sizeof // 4
        ready += [ids[(int(drawn["first_"]) + i) % most] for i in range(int(drawn["size_"]))]
        return {int(replica) for replica in ready}

    def lowest(self):
        """Returns the id of the first replica of this process."""
        return 0 if self.runner is None else int(self.runner["states_"]["lowest_"])

    def title(self):
        number = int(self.value["number"])
        kind = "fibers" if self.is_fibers else "threads"
        return f"run{f' {number}' if number else ''} of {len(self.carriers)} replicas, on {kind}"


class Program:
    """The runs of the program that have not returned, the outermost first."""

    def __init__(self):
        if gdb.selected_thread() is None:
            raise gdb.GdbError("no program has been started, and no core file is open")
        load_types()
        self.runs = {}
        self.thread_of = {}  # A carrier on the stacks of a thread that runs it now.
        self.within = {}  # The suspended caller of an inner run, on the stack of this carrier.
        self.selected = gdb.selected_thread()
        level = gdb.selected_frame().level()
        for thread in sorted(gdb.selected_inferior().threads(), key=lambda thread: thread.num):
            thread.switch()
            slot = gdb.parse_and_eval(f"({DETAIL}CurrentSlot*)&'{DETAIL}current'")
            self.visit(int(slot["carrier"]), thread)
        self.selected.switch()
        gdb.execute(f"frame {level}", False, True)

    def visit(self, carrier, thread):
        """Adds the runs of a carrier and of the carriers around it."""
        chain = []
        while carrier != 0:
            chain.append(carrier)
            carrier = int(object_at(carrier, "Carrier")["outer"])
        for i in reversed(range(len(chain))):
            run = self.run_of(chain[i])
            is_replica = int(object_at(chain[i], "Carrier")["replica"]) >= 0
            if is_replica and not run.is_fibers:
                self.thread_of = {c: t for c, t in self.thread_of.items() if t is not thread}
            if thread is not None:
                self.thread_of.setdefault(chain[i], thread)
                if i > 1:
                    self.within[chain[i]] = chain[i - 1]

    def run_of(self, carrier):
        address = int(object_at(carrier, "Carrier")["run"])
        if address in self.runs:
            return self.runs[address]
        run = self.runs[address] = Run(address)
        if run.is_fibers:
            for fiber in filter(None, run.carriers):
                self.visit(int(object_at(fiber, "Fiber")["slot"]["carrier"]), None)
        return run

    def stack_of(self, run, carrier):
        """Returns the stack of a replica, or None for one that has not begun."""
        thread = self.thread_of.get(carrier)
        if not run.is_fibers or thread is not None and carrier not in self.within:
            return None if thread is None else Stack(thread, None)
        fiber = object_at(self.within.get(carrier, carrier), "Fiber")
        if not fiber["has_entered"]:
            return None
        return Stack(thread or self.selected, Registers(int(fiber["point"])))

    def describe(self, run, position):
        """Returns the state of a replica, and where it is."""
        carrier = run.carriers[position]
        status = "kRunning"
        if run.runner is not None:
            state = run.runner["states_"]["first_"][position]
            status = last_word(state["status"])
        if status in ENDED:
            return "ended", ENDED[status]
        stack = self.stack_of(run, carrier) if carrier else None
        if stack is None:
            return ("absent" if status == "kAbsent" else "not begun"), ""
        if status == "kArrived":
            request = first_of(run.runner["requests_"])[run.lowest() + position]
            return "waiting", merge_text(request, int(state["merges"]))
        if status in ("kSeeking", "kMaking"):
            return "waiting", stack.place() + "  for a variable"
        if position in run.ready:
            return "ready", stack.place()
        is_running = carrier in self.thread_of if run.is_fibers else not stack.is_blocked()
        return "running" if is_running else "waiting", stack.place()


def merge_text(request, number):
    site = request["site"]
    place = f"{os.path.basename(site['file'].string())}:{int(site['line'])}"
    verb = re.sub("([A-Z])", r"_\1", last_word(request["type"]["kind"])[1:]).lower()[1:]
    tag = request["tag"]
    name = f' "{text_of(tag["name"])}"' if int(tag) else ""
    return f"{place}  {verb} #{number}{name}"


def explained(work):
    """Calls `work`, and says of an unknown class or member what it means."""
    before = gdb.parameter("language")
    gdb.execute("set language c++", False, True)  # The selected frame may be one of the C library.
    try:
        return work()
    except gdb.MemoryError as error:
        raise gdb.GdbError(f"the memory of the replicas cannot be read: {error}\n"
                           "A core file of gcore lacks the stacks of fibers.") from error
    except (gdb.error, LookupError) as error:
        raise gdb.GdbError(f"the replicas cannot be read: {error}\n"
                           "The program must not be stripped, and belfry_gdb.py must come from the "
                           "belfry of the program.") from error
    finally:
        gdb.execute(f"set language {before}", False, True)


class Replicas(gdb.Command):
    """Lists the replicas of every run: id, state, and where each replica is.

    States: running; waiting, at a merge or for a device; ready, waiting for its turn; not begun;
    ended; absent, without a part in the run."""

    def __init__(self):
        super().__init__("replicas", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        explained(self.list)

    @staticmethod
    def list():
        program = Program()
        if not program.runs:
            gdb.write("no run\n")
        for number, run in enumerate(program.runs.values()):
            names = f"  (replica {number}.N)" if len(program.runs) > 1 else ""
            gdb.write(f"{run.title()}{names}\n")
            rows = [program.describe(run, i) for i in range(len(run.carriers))]
            begin = 0
            while begin < len(rows):
                end = begin + 1
                while end < len(rows) and rows[end] == rows[begin]:
                    end += 1
                first, last = run.lowest() + begin, run.lowest() + end - 1
                name = f"{first}" if first == last else f"{first} to {last}"
                row = f"  replica {name:<10} {rows[begin][0]:<9}  {rows[begin][1]}"
                gdb.write(row.rstrip() + "\n")
                begin = end


class ReplicaCommand(gdb.Command):
    """replica N COMMAND: executes a command of gdb on the stack of a replica.

    `backtrace` shows the whole stack. For other commands the frame of the program's own call is
    selected: `replica 1 info locals`, `replica 1 print loss`. With runs within runs,
    `replica R.N COMMAND` names the run as `replicas` does; else N is a replica of the innermost
    run."""

    def __init__(self):
        super().__init__("replica", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        parts = re.fullmatch(r"(?:(\d+)\.)?(\d+)\s+(\S.*)", argument.strip())
        if parts is None:
            raise gdb.GdbError("usage: replica N COMMAND, as in: replica 1 backtrace")
        explained(lambda: self.stack(parts)).execute(parts[3], from_tty)

    @staticmethod
    def stack(parts):
        program = Program()
        runs = list(program.runs.values())
        if not runs or int(parts[1] or 0) >= len(runs):
            raise gdb.GdbError("no such run: `replicas` lists the runs")
        run = runs[int(parts[1] or len(runs) - 1)]
        position = int(parts[2]) - run.lowest()
        if not 0 <= position < len(run.carriers):
            raise gdb.GdbError(f"no replica {parts[2]} in {run.title()}")
        carrier = run.carriers[position]
        stack = program.stack_of(run, carrier) if carrier else None
        if stack is None:
            state, _ = program.describe(run, position)
            raise gdb.GdbError(f"replica {parts[2]} has no stack: {state}")
        return stack


Replicas()
ReplicaCommand()
