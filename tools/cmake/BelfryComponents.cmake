# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Decides which components are built. BELFRY_COMPONENTS is a list of
#   AUTO    every library whose packages are found, and
#   <name>  this component, or an error with the missing package,
#   -<name> not this component.
# Components bring their dependencies along, and tests the components that they use.
#
# Sets for each component BELFRY_HAVE_<NAME>, and BELFRY_WITHOUT_<name>, the reason why the
# component is not built.

# Each component comes behind its dependencies.
set(BELFRY_ALL_COMPONENTS core sim driver files tower mpi watch testing cuda tool)
foreach(component sim files tower mpi cuda)
  set(BELFRY_NEEDS_${component} core)
endforeach()
foreach(component driver watch testing)
  set(BELFRY_NEEDS_${component} sim)
endforeach()
set(BELFRY_NEEDS_tool driver)

# Notes the reason for a component and its dependencies in asked_<component>.
macro(belfry_ask who)
  foreach(component ${ARGN})
    set(asking ${component})
    set(asked_by "${who}")
    while(asking AND NOT asked_${asking})
      set(asked_${asking} "${asked_by}")
      set(asked_by "'${asking}' needs it")
      set(asking ${BELFRY_NEEDS_${asking}})
    endwhile()
  endforeach()
endmacro()

list(JOIN BELFRY_ALL_COMPONENTS " " known)
set(left_out "")
foreach(entry IN LISTS BELFRY_COMPONENTS)
  string(REGEX REPLACE "^-" "" component "${entry}")
  if(NOT entry STREQUAL "AUTO" AND NOT component IN_LIST BELFRY_ALL_COMPONENTS)
    message(FATAL_ERROR
            "BELFRY_COMPONENTS has '${entry}'. The components are: ${known}. AUTO stands for all "
            "libraries that can be built here, -cuda leaves cuda out.")
  elseif(entry MATCHES "^-")
    list(APPEND left_out ${component})
  elseif(NOT entry STREQUAL "AUTO")
    belfry_ask("BELFRY_COMPONENTS names it" ${component})
  endif()
endforeach()
belfry_ask("every component needs it" core)
if(BELFRY_BUILD_TESTS)
  belfry_ask("BELFRY_BUILD_TESTS needs it" driver files tower testing tool)
endif()
if(BELFRY_BUILD_BENCHMARKS)
  belfry_ask("BELFRY_BUILD_BENCHMARKS needs it" sim)
endif()

# Sets `reason` if a package of the component is missing.
macro(belfry_find_packages component)
  if(${component} STREQUAL "cuda")
    include(BelfryCuda)
  elseif(${component} STREQUAL "mpi")
    include(BelfryMpi)
  elseif(${component} STREQUAL "testing")
    find_package(rapidcheck CONFIG QUIET)
    if(NOT rapidcheck_FOUND)
      set(reason "no RapidCheck (Debian: librapidcheck-dev)")
    endif()
  elseif(${component} STREQUAL "tool")
    find_package(CLI11 2.1 CONFIG QUIET)
    if(NOT CLI11_FOUND)
      set(reason "no CLI11 2.1 (Debian: libcli11-dev)")
    endif()
  elseif(${component} STREQUAL "watch")
    find_library(BELFRY_LIBDW dw)
    find_path(BELFRY_LIBDW_INCLUDE elfutils/libdwfl.h)
    mark_as_advanced(BELFRY_LIBDW BELFRY_LIBDW_INCLUDE)
    if(BELFRY_SANITIZE)
      set(reason "BELFRY_SANITIZE does not go with a watch")
    elseif(NOT BELFRY_LIBDW OR NOT BELFRY_LIBDW_INCLUDE)
      set(reason "no libdw (Debian: libdw-dev)")
    endif()
  endif()
endmacro()

set(built "")
foreach(belfry_component IN LISTS BELFRY_ALL_COMPONENTS)
  set(reason "")
  set(needed "${BELFRY_NEEDS_${belfry_component}}")
  if(belfry_component IN_LIST left_out)
    set(reason "BELFRY_COMPONENTS leaves it out")
  elseif(NOT asked_${belfry_component} AND
         (belfry_component STREQUAL "tool" OR NOT "AUTO" IN_LIST BELFRY_COMPONENTS))
    set(reason "BELFRY_COMPONENTS does not name it")
  elseif(needed AND NOT needed IN_LIST built)
    set(reason "the component '${needed}' is not built")
  else()
    belfry_find_packages(${belfry_component})
  endif()
  if(reason AND asked_${belfry_component})
    message(FATAL_ERROR "belfry's component '${belfry_component}' cannot be built: ${reason}. "
                        "${asked_${belfry_component}}.")
  elseif(NOT reason)
    list(APPEND built ${belfry_component})
  elseif(NOT reason MATCHES "^BELFRY_")
    message(STATUS "belfry without '${belfry_component}': ${reason}")
  endif()
  string(TOUPPER ${belfry_component} name)
  set(BELFRY_WITHOUT_${belfry_component} "${reason}")
  set(BELFRY_HAVE_${name} OFF)
  if(NOT reason)
    set(BELFRY_HAVE_${name} ON)
  endif()
endforeach()
list(JOIN built " " built)
message(STATUS "belfry with: ${built}")
