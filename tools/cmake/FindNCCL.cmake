# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Finds NCCL and makes NCCL::nccl. A package configuration (NCCL 2.30 and later install one) wins;
# else the header and the library are searched in NCCL_ROOT, NCCL_HOME (variables or environment),
# the CUDA toolkit and the system folders. A library without development link (libnccl.so.2, as in
# Python wheels) is accepted.

find_package(NCCL CONFIG QUIET)
if(TARGET NCCL::nccl)
  set(NCCL_FOUND TRUE)
  return()
endif()

set(_nccl_hints ${NCCL_ROOT} ${NCCL_HOME} "$ENV{NCCL_ROOT}" "$ENV{NCCL_HOME}"
                ${CUDAToolkit_LIBRARY_ROOT} ${CUDAToolkit_TARGET_DIR})
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${_nccl_hints} PATH_SUFFIXES include)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${_nccl_hints} PATH_SUFFIXES lib lib64)
mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)

if(NCCL_INCLUDE_DIR AND EXISTS "${NCCL_INCLUDE_DIR}/nccl.h")
  set(NCCL_VERSION "")
  foreach(_nccl_part MAJOR MINOR PATCH)
    file(STRINGS "${NCCL_INCLUDE_DIR}/nccl.h" _nccl_line
         REGEX "^#define NCCL_${_nccl_part} +[0-9]+")
    string(REGEX MATCH "[0-9]+$" _nccl_number "${_nccl_line}")
    list(APPEND NCCL_VERSION "${_nccl_number}")
  endforeach()
  list(JOIN NCCL_VERSION "." NCCL_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR
                                  VERSION_VAR NCCL_VERSION)
if(NCCL_FOUND)
  add_library(NCCL::nccl UNKNOWN IMPORTED)
  set_target_properties(NCCL::nccl PROPERTIES
    IMPORTED_LOCATION "${NCCL_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${NCCL_INCLUDE_DIR}")
endif()
