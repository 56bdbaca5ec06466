#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Exchanges arrays with numpy by DLPack, in both directions.

numpy before 2.1 knows neither version 1 nor bool, and numpy before 1.23 no DLPack at all. Exits
with 77 without numpy.

usage: dlpack_numpy_test.py LIBRARY
"""

import ctypes
import sys

try:
    import numpy
except ImportError:
    print("numpy is missing: nothing is tested")
    sys.exit(77)

NEVER, IF_NEEDED, ALWAYS = range(3)
UNSUPPORTED, INVALID = 80, 30
# The names of DType in its order; numpy has no bfloat16.
TYPES = ["float32", "float64", "float16", None, "int8", "int32", "int64", "uint8", "bool", "int16",
         "uint16", "uint32", "uint64"]
VERSION = tuple(int(part) for part in numpy.__version__.split(".")[:2])
KNOWS_VERSION_1 = VERSION >= (2, 1)


class Options(ctypes.Structure):
    """The structure of the same name in dlpack_numpy.cpp."""

    _fields_ = [("backend", ctypes.c_void_p), ("is_versioned", ctypes.c_int),
                ("copy", ctypes.c_int), ("is_shared", ctypes.c_int)]


library = ctypes.CDLL(sys.argv[1])
library.belfry_import.argtypes = [ctypes.POINTER(Options), ctypes.c_void_p, ctypes.c_void_p,
                                  ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
library.belfry_export.argtypes = [ctypes.POINTER(Options), ctypes.c_int,
                                  ctypes.POINTER(ctypes.c_int64), ctypes.c_int, ctypes.c_void_p]
library.belfry_export.restype = ctypes.c_void_p
library.belfry_live_buffers.argtypes = [ctypes.c_void_p]
library.belfry_backend.restype = ctypes.c_void_p
BACKEND = library.belfry_backend()

python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
# A capsule keeps the address of its name.
NAMES = [ctypes.c_char_p(b"dltensor"), ctypes.c_char_p(b"dltensor_versioned")]
USED = [ctypes.c_char_p(b"used_dltensor"), ctypes.c_char_p(b"used_dltensor_versioned")]


def imported(array, versioned=False, copy=NEVER, written=None):
    """Returns the error's number, the element type and the elements that belfry sees."""
    capsule = array.__dlpack__(max_version=(1, 0)) if versioned else array.__dlpack__()
    pointer = python.PyCapsule_GetPointer(capsule, NAMES[versioned])
    elements = numpy.empty(array.shape, array.dtype)
    dtype = ctypes.c_int(-1)
    code = library.belfry_import(ctypes.byref(Options(BACKEND, versioned, copy, 0)), pointer,
                                 elements.ctypes.data,
                                 None if written is None else written.ctypes.data,
                                 ctypes.byref(dtype))
    if dtype.value >= 0:
        python.PyCapsule_SetName(capsule, USED[versioned])  # belfry has called the deleter.
    return code, dtype.value, elements


class Exported:
    """A tensor of belfry, as a producer of the array API."""

    def __init__(self, array, versioned=False, shared=False):
        extents = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.versioned = versioned
        self.pointer = library.belfry_export(
            ctypes.byref(Options(BACKEND, versioned, NEVER, shared)),
            TYPES.index(array.dtype.name), extents, array.ndim, array.ctypes.data)
        assert self.pointer

    def __dlpack__(self, **_):
        return python.PyCapsule_New(self.pointer, NAMES[self.versioned], None)

    def __dlpack_device__(self):
        return (1, 0)


def check(condition, text):
    if not condition:
        sys.exit("failed: " + text)


def samples():
    """Yields an array of each element type that this numpy exports."""
    for name in TYPES:
        if name is None or (name == "bool" and not KNOWS_VERSION_1):
            continue
        yield (numpy.arange(6) % 5).astype(name).reshape(2, 3)


def test_imports(versioned):
    for array in samples():
        references = sys.getrefcount(array)
        code, dtype, elements = imported(array, versioned)
        check(code == 0 and TYPES[dtype] == array.dtype.name, f"import of {array.dtype}")
        check((elements == array).all(), f"elements of {array.dtype}")
        check(sys.getrefcount(array) == references, "the deleter is called")
        replaced = array[::-1].copy()
        check(imported(array, versioned, written=replaced)[0] == 0, "a write")
        check((array == replaced).all(), f"numpy sees the written elements of {array.dtype}")
    check(imported(numpy.array(7.5), versioned)[2] == 7.5, "a scalar")
    check(imported(numpy.empty((0, 3)), versioned)[0] == 0, "no elements")


def test_layouts(versioned):
    array = numpy.arange(12, dtype="int32").reshape(3, 4)
    for view in (array.T, array[:, ::2], array[::-1], array[1:, 1:]):
        references = sys.getrefcount(view)
        check(imported(view, versioned)[0] == UNSUPPORTED, "another layout")
        code, _, elements = imported(view, versioned, IF_NEEDED)
        check(code == 0 and (elements == view).all(), "a copy of another layout")
        check(sys.getrefcount(view) == references, "no reference is left")
    check((imported(array[1:2], versioned)[2] == array[1:2]).all(), "rows are row-major")
    written = numpy.zeros_like(array)
    check(imported(array, versioned, ALWAYS, written)[0] == 0 and array[2, 3] == 11,
          "a write to a copy")


def test_exports(versioned):
    for array in samples():
        result = numpy.from_dlpack(Exported(array, versioned))
        check(result.dtype == array.dtype and (result == array).all(), f"export of {array.dtype}")
        check(result.strides == array.strides, "strides")
        check(library.belfry_live_buffers(BACKEND) == 1, "the array keeps the tensor")
        del result
        check(library.belfry_live_buffers(BACKEND) == 0, "the end of the array ends the tensor")
    shared = numpy.from_dlpack(Exported(numpy.arange(4.0), versioned, shared=True))
    check((shared == numpy.arange(4.0)).all(), "a copy of a shared tensor")
    check(numpy.from_dlpack(Exported(numpy.empty((2, 0)), versioned)).shape == (2, 0), "empty")


def test_read_only():
    array = numpy.arange(4.0)
    array.flags.writeable = False
    code, _, elements = imported(array, True)
    check(code == 0 and (elements == array).all(), "read-only elements are read")
    check(imported(array, True, written=numpy.zeros(4))[0] == INVALID, "and not written")
    check((array == numpy.arange(4.0)).all(), "read-only elements stay")


for of_version_1 in (False, True) if KNOWS_VERSION_1 else (False,):
    test_imports(of_version_1)
    test_layouts(of_version_1)
    test_exports(of_version_1)
if KNOWS_VERSION_1:
    test_read_only()
print("numpy", numpy.__version__, "and version 1" if KNOWS_VERSION_1 else "before version 1")
