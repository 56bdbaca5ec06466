# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Objects of belfry in the memory of a program under gdb.

The types come from belfry_types.o in the folder of this file, and the classes of objects from the
run-time type information. The libraries of belfry need no debug information, and shared libraries
may be stripped.
"""

import os
import re

import gdb

DETAIL = "belfry::detail::"
TYPES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "belfry_types.o")
# No address of a program: the types come without code.
NOWHERE = 0xbe1f000000000000


def load_types():
    """Loads the types of belfry, once for each program."""
    try:
        gdb.lookup_type(DETAIL + "DebuggerTypes")
    except gdb.error:
        if not os.path.exists(TYPES):
            raise gdb.GdbError(f"{TYPES} is missing: install belfry again") from None
        gdb.execute(f"add-symbol-file {TYPES} -o {NOWHERE}", False, True)


def type_of(name):
    return gdb.lookup_type(DETAIL + name)


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
