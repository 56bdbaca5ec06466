# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# A runner is one executable of many programs: `<runner> NAME [argument ...]` runs the program
# NAME.cpp. Each program stays a test of ctest, in a process of its own. A program includes all of
# belfry and has 50 lines: alone, most of its compilation is headers, and its link is all libraries.
#
# A program is compiled without changes. A small source for each program (entry.cpp.in) includes the
# headers of the program first, and then the program in a namespace of its own, where the headers
# are empty. So batches of files (UNITY_BUILD) can hold several programs, and programs may use equal
# names. `main` becomes a function without a declared result: C++ gives a return at the end to
# ::main alone. A program with a return in main therefore also has one at the end; the compiler says
# so where it is missing.
#
# Builds without batches (BELFRY_UNITY_BUILD) prove that each program includes what it needs. The
# consumers (tools/consumers) prove that contract programs, compiled alone, link with what is
# installed.

# The ways to run a program: alone, with a comparison of merge functions, or with verdicts. The
# linker wraps functions of the library.
foreach(way plain compared judged)
  add_library(belfry_${way}_programs OBJECT runner/entry.cpp runner/${way}_programs.cpp)
  belfry_compile_options(belfry_${way}_programs)
  separate_arguments(flags UNIX_COMMAND "${BELFRY_TEST_FLAGS}")
  target_compile_options(belfry_${way}_programs PRIVATE ${flags})
  target_include_directories(belfry_${way}_programs PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/src"
                                                    PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}")
endforeach()
target_link_libraries(belfry_compared_programs PUBLIC belfry::testing)
set(backend _ZN6belfry3sim7Backend)
target_link_options(belfry_compared_programs INTERFACE
  LINKER:--wrap=${backend}C1ERKNS0_7OptionsENS_8CallSiteE,--wrap=${backend}D1Ev)
target_link_libraries(belfry_judged_programs PUBLIC belfry::sim)
target_link_options(belfry_judged_programs INTERFACE
                    LINKER:--wrap=_ZNSt13random_device9_M_getvalEv)

# belfry_runner(<runner> [COMPARED | JUDGED] PROGRAMS <source> ... [GLOBAL <source> ...]
#               [LINKS ...])
# COMPARED programs are bodies as well (belfry_program_as_body). JUDGED programs are watched, for
# verdicts (belfry_judged_program); JUDGED needs the target belfry::watch. GLOBAL programs are in no
# namespace: they specialize templates of belfry.
function(belfry_runner name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COMPARED;JUDGED" "" "PROGRAMS;GLOBAL;LINKS")
  set(way plain)
  set(tree asan)
  if(arg_COMPARED)
    set(way compared)
  elseif(arg_JUDGED)
    set(way judged)
    set(tree plain)
  endif()
  add_executable(${name})
  belfry_compile_options(${name})
  separate_arguments(flags UNIX_COMMAND "${BELFRY_TEST_FLAGS}")
  target_compile_options(${name} PRIVATE ${flags})
  target_link_libraries(${name} PRIVATE belfry_${way}_programs belfry::sim ${arg_LINKS})
  set_target_properties(${name} PROPERTIES BELFRY_TREE ${tree} UNITY_BUILD_BATCH_SIZE 8)
  add_dependencies(${tree}_tests ${name})
  foreach(program IN LISTS arg_PROGRAMS arg_GLOBAL)
    belfry_entry(${name} "${program}" "${arg_GLOBAL}")
  endforeach()
  if(arg_JUDGED)
    # The draws of the wrapper are those of the row.
    belfry_watch(${name} VOUCH "std::random_device::_M_getval()")
  endif()
endfunction()

# Adds a program to a runner; `global` are the programs in no namespace.
function(belfry_entry runner program global)
  set(open "")
  set(close "")
  cmake_path(GET program STEM entry)
  set(main main_of_${entry})
  set(source "${CMAKE_CURRENT_BINARY_DIR}/entries/${entry}.cpp")
  if(program IN_LIST global)
    set_source_files_properties("${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  else()
    set(open "namespace program_${entry} {")
    set(close "}")
  endif()
  cmake_path(ABSOLUTE_PATH program BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${program}")
  file(STRINGS "${program}" directives REGEX "^ *#")
  list(JOIN directives "\n" directives)
  configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/entry.cpp.in" "${source}" @ONLY)
  cmake_path(GET program PARENT_PATH folder)
  target_include_directories(${runner} PRIVATE "${folder}")
  target_sources(${runner} PRIVATE "${source}")
endfunction()

# belfry_prints(<test> <runner> <file> <program> [arguments ...])
# Adds a test: with these arguments, the program prints the text of the file.
function(belfry_prints test runner file)
  cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
  add_test(NAME ${test}
           COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:${runner}>" "-DARGUMENTS=${ARGN}"
                   "-DEXPECTED=${file}" -P "${PROJECT_SOURCE_DIR}/tools/consumers/compare.cmake")
  get_target_property(tree ${runner} BELFRY_TREE)
  set_tests_properties(${test} PROPERTIES LABELS "unit;${tree}" TIMEOUT 60)
endfunction()

# belfry_program_as_body(<test> <runner> <program> [<code>])
# Adds a test that runs the program with the merge functions of different replicas and compares the
# results; with <code>, the comparison must throw the error of that code.
function(belfry_program_as_body test runner)
  add_test(NAME ${test} COMMAND ${runner} --as-body ${ARGN})
  set_tests_properties(${test} PROPERTIES LABELS "prop;asan" TIMEOUT 300)
endfunction()

# belfry_judged_program(<runner> <program> <row>)
# Adds a test that explores the whole program and compares the verdicts about its backends with the
# rows of that name in docs/data/judged_programs.txt.
function(belfry_judged_program runner program row)
  add_test(NAME judged.${row}
           COMMAND ${runner} --judge ${program} ${row}
                   "${PROJECT_SOURCE_DIR}/docs/data/judged_programs.txt")
  set_tests_properties(judged.${row} PROPERTIES LABELS "prop;plain" TIMEOUT 300)
endfunction()
