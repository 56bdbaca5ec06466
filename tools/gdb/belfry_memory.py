# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Objects of belfry in the memory of a program under gdb.

The types come from belfry_types.o of the installation, and the classes of objects from the run-time
type information. The libraries of belfry need no debug information, and shared libraries
may be stripped.
"""

import glob
import os
import re

import gdb

DETAIL = "belfry::detail::"
PREFIX = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
# No address of a program. The few functions of the object file are never called.
NOWHERE = 0xbe1f000000000000


def load_types():
    """Loads the types of belfry, once for each program."""
    try:
        gdb.lookup_type(DETAIL + "DebuggerTypes")
    except gdb.error:
        found = [*glob.glob(f"{PREFIX}/lib*/belfry/belfry_types.o"),
                 *glob.glob(f"{PREFIX}/lib/*/belfry/belfry_types.o")]
        if not found:
            raise gdb.GdbError(f"no lib/belfry/belfry_types.o in {PREFIX}: "
                               "source belfry_gdb.py of an installed belfry") from None
        gdb.execute(f'add-symbol-file "{found[0]}" -o {NOWHERE}', False, True)


def type_of(name):
    try:
        return gdb.lookup_type(DETAIL + name)
    except gdb.error as error:
        try:
            return gdb.lookup_type(f"{DETAIL}(anonymous namespace)::{name}")
        except gdb.error:
            raise error from None


def word(address):
    return int.from_bytes(gdb.selected_inferior().read_memory(address, 8), "little")


def object_at(address, name):
    """Returns the object of a class of belfry."""
    return gdb.Value(address).cast(type_of(name).pointer()).dereference()


def class_of(address):
    """Returns the class of an object with virtual functions, and the address of the object.

    The Itanium C++ ABI: before the table of functions stand the type information, with the name of
    the class, and the distance to the begin of the object.
    """
    table = word(address)
    name = gdb.Value(word(word(table - 8) + 8)).cast(gdb.lookup_type("char").pointer()).string()
    distance = word(table - 16)
    begin = address + distance - (1 << 64 if distance >> 63 else 0)
    return re.split(r"\d+", name.rstrip("E"))[-1], begin


def first_of(vector):
    """Returns a pointer to the first item of a std::vector, whose first two words are the begin and
    the end."""
    item = vector.type.strip_typedefs().template_argument(0)
    return gdb.Value(word(int(vector.address))).cast(item.pointer())


def items(vector):
    first, end = first_of(vector), word(int(vector.address) + 8)
    return [first[i] for i in range((end - int(first)) // first.type.target().sizeof)]


def owned(pointer):
    """Returns the address in a std::unique_ptr, its first word."""
    return word(int(pointer.address))


def last_word(value):
    """Returns `kEnded` for the enumerator `belfry::detail::ReplicaState::Status::kEnded`."""
    return str(value).rsplit("::", 1)[-1]


def text_of(view):
    """Returns the text of a std::string_view, two words."""
    fields = {field.name: view[field] for field in view.type.strip_typedefs().fields()}
    size = next(int(v) for k, v in fields.items() if k and "len" in k or k and "size" in k)
    data = next(v for k, v in fields.items() if k and ("str" in k or "data" in k))
    return data.string(length=size)
