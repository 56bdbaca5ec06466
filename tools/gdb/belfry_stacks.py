# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""The stacks of replicas under gdb, of threads and of suspended fibers."""

import os
import re

import gdb
import gdb.unwinder
from belfry_memory import word

HEADERS = re.compile(r"/include/(belfry|c\+\+)/")
LIBRARIES = re.compile(r"/(libc|libm|libpthread|libstdc\+\+|libgcc_s|ld-|libboost_|libbelfry_)"
                       r"[^/]*$")
VERB = re.compile(r"belfry::(?!detail::)(?:\w+::)*(\w+)$")
BACKTRACE = re.compile(r"(bt|backtrace|where)\b")


class Registers:
    """The registers of a stack that FiberCarriers has suspended.

    Boost.Context pushes them at a switch, the return address last but one: below it stand the
    registers of a callee. Versions differ in the words below, and the right word is the address
    behind a call.
    """
    X86 = ("rip", "rbp", "rbx", "r15", "r14", "r13", "r12")

    def __init__(self, point):
        architecture = gdb.selected_inferior().architecture().name()
        if architecture.startswith("i386:x86-64"):
            at = next((point + below for below in (0x38, 0x40, 0x48)
                       if self.is_call(word(point + below))), None)
            self.values = {} if at is None else {
                name: word(at - 8 * i) for i, name in enumerate(self.X86)}
            self.stack, self.pc = "rsp", "rip"
        elif architecture.startswith("aarch64"):
            at = point + 0xa0
            self.values = {f"x{19 + i}": word(point + 0x40 + 8 * i) for i in range(12)}
            self.values["pc"] = word(at)
            at += 8
            self.stack, self.pc = "sp", "pc"
        else:
            raise gdb.GdbError(f"no backtraces of fibers on {architecture}")
        if not self.values:
            raise gdb.GdbError("this version of Boost.Context keeps registers in unknown places")
        self.values[self.stack] = at + 8
        self.point = point

    @staticmethod
    def is_call(address):
        """Says whether the instruction before an address is a call, direct or of opcode FF /2."""
        try:
            code = bytes(gdb.selected_inferior().read_memory(address - 7, 7))
        except (gdb.error, OverflowError):
            return False
        return code[2] == 0xe8 or any(code[-n] == 0xff and code[1 - n] >> 3 & 7 == 2
                                      for n in (2, 3, 4, 6, 7))


class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


class FiberUnwinder(gdb.unwinder.Unwinder):
    """Puts the frames of a suspended fiber behind the innermost frame of the selected thread."""

    def __init__(self):
        super().__init__("belfry replica")
        self.registers = None
        self.top = None

    def __call__(self, pending):
        if self.registers is None:
            return None
        sp = pending.read_register(self.registers.stack)
        pc = pending.read_register(self.registers.pc)
        if (int(sp), int(pc)) != self.top:
            return None
        # Frames grow towards lower addresses: the replaced frame is below the frames of the fiber.
        below = gdb.Value(self.registers.point).cast(sp.type)
        info = pending.create_unwind_info(FrameId(below, pc))
        for name, value in self.registers.values.items():
            kind = pending.read_register(name).type
            info.add_saved_register(name, gdb.Value(value).cast(kind))
        return info

    def show(self, registers):
        """Shows the frames of a fiber, or with None those of the thread again."""
        self.registers = None
        gdb.invalidate_cached_frames()
        if registers is not None:
            frame = gdb.newest_frame()
            self.top = (int(frame.read_register(registers.stack)), frame.pc())
            self.registers = registers
            gdb.invalidate_cached_frames()


UNWINDER = FiberUnwinder()
gdb.unwinder.register_unwinder(None, UNWINDER, replace=True)


def without_arguments(name):
    """Returns `belfry::Tensor::to_host` for `belfry::Tensor<float>::to_host() const`."""
    shorter = None
    while shorter != name:
        shorter, name = name, re.sub(r"<[^<>]*>", "", name)
    return name.partition("(")[0]


class Stack:
    """Selects the stack of a replica, for a scope: the stack of a thread, or a suspended one."""

    def __init__(self, thread, registers):
        self.thread = thread
        self.registers = registers

    def __enter__(self):
        self.before = gdb.selected_thread()
        self.level = gdb.selected_frame().level()
        self.thread.switch()
        UNWINDER.show(self.registers)
        return self

    def __exit__(self, *_):
        UNWINDER.show(None)
        self.before.switch()
        gdb.execute(f"frame {self.level}", False, True)

    def frames(self):
        """Returns the frames, the innermost first."""
        found, frame = [], gdb.newest_frame()
        while frame is not None and frame.name() != "make_fcontext":
            found.append(frame)
            frame = frame.older()
        if self.registers is None:
            return found
        begin = self.registers.values[self.registers.pc]
        return found[next(i for i, frame in enumerate(found) if frame.pc() == begin):]

    def call(self):
        """Returns the innermost frame of the program's own functions, and the frame it called."""
        frames, called = self.frames(), None
        # Frames of the scheduler may have names without a namespace, where functions are inlined.
        waits = [i for i, frame in enumerate(frames) if "::block_until" in (frame.name() or "")]
        for frame in frames[waits[0] if waits else 0:]:
            if self.is_own(frame):
                return frame, called
            called = frame
        return None, None

    @staticmethod
    def is_own(frame):
        file = frame.find_sal().symtab
        if file is None or HEADERS.search(file.fullname()):
            return False
        library = LIBRARIES.search(gdb.solib_name(frame.pc()) or "")
        return not library and not (frame.name() or "").startswith("belfry::")

    def place(self):
        """Returns `file:line` of the program's own call, and the verb it calls, if it has one."""
        with self:
            frame, called = self.call()
            if frame is None:
                return "outside of the program's own functions"
            sal = frame.find_sal()
            place = f"{os.path.basename(sal.symtab.filename)}:{sal.line}"
            verb = VERB.match(without_arguments(called and called.name() or ""))
            return f"{place}  {verb[1]}" if verb else place

    def is_blocked(self):
        with self:
            return any("::block_until" in (frame.name() or "") for frame in self.frames())

    def execute(self, command, from_tty):
        with self:
            frames = self.frames()
            if BACKTRACE.match(command):
                said = gdb.execute(command, False, True)
                begin = said.find(f"#{frames[0].level()} ")
                end = re.search(r"^#\d+ .* make_fcontext ", said, re.MULTILINE)
                gdb.write(said[begin:end.start() if end else None])
                return
            (self.call()[0] or frames[0]).select()
            try:
                gdb.execute(command, from_tty)
            except gdb.error as error:
                raise gdb.GdbError(str(error)) from error
