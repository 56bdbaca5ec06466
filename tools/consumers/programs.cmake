# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# add_programs(<glob> <link> ...): a test for each program. The program prints the text of its
# .expected file; a program without an .expected file is a test binary that must pass.
function(add_programs pattern)
  file(GLOB programs CONFIGURE_DEPENDS "${pattern}")
  foreach(program IN LISTS programs)
    get_filename_component(name "${program}" NAME_WE)
    # A program for mpirun needs belfry::mpi.
    if(name MATCHES "mpi" AND NOT "belfry::mpi" IN_LIST ARGN)
      continue()
    endif()
    # A program with verdicts needs the watch of host memory; some builds have none.
    if(name MATCHES "verdict" AND NOT TARGET belfry::watch)
      continue()
    endif()
    string(REGEX REPLACE "\\.cpp$" ".expected" expected "${program}")
    add_executable(${name} "${program}")
    target_link_libraries(${name} PRIVATE ${ARGN})
    if(name MATCHES "verdict")
      belfry_watch(${name})
    endif()
    if(EXISTS "${expected}")
      add_test(NAME ${name}
               COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:${name}>" "-DEXPECTED=${expected}"
                       -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/compare.cmake")
    else()
      find_package(GTest CONFIG REQUIRED)
      find_package(rapidcheck CONFIG REQUIRED)
      target_link_libraries(${name} PRIVATE rapidcheck_gtest GTest::gtest_main)
      add_test(NAME ${name} COMMAND ${name})
    endif()
  endforeach()
endfunction()
