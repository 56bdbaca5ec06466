# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# belfry_mutant(<name> FILE <path> KILLED_BY <test> [SUITE <source>])
# Plants the fault of mutants/<name>.patch in one file of core, and makes a test that passes when
# the test KILLED_BY of the suites fails. Only that file is compiled: it is linked before the
# library, whose own copy is then not needed. A header has no object to replace: SUITE is the source
# of the test, which is compiled with the changed header in front.
function(belfry_mutant name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FILE;KILLED_BY;SUITE" "")
  # A folder for each file: what a mutant changed once must not be found when it changes another.
  get_filename_component(file "${arg_FILE}" NAME_WE)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}/${file}")
  set(changed "${folder}/${arg_FILE}")
  set(patch "${CMAKE_CURRENT_SOURCE_DIR}/mutants/${name}.patch")
  set(apply "${CMAKE_CURRENT_SOURCE_DIR}/mutants/apply_patch.py")
  set(original "${PROJECT_SOURCE_DIR}/${arg_FILE}")
  add_custom_command(OUTPUT "${changed}"
    COMMAND ${Python3_EXECUTABLE} "${apply}" "${original}" "${patch}" "${changed}"
    DEPENDS "${original}" "${patch}" "${apply}" VERBATIM)

  set(target mutant_${name})
  add_executable(${target} "${changed}" main_sim.cpp mirrored_factory.cpp)
  if(arg_SUITE)
    target_sources(${target} PRIVATE ${arg_SUITE})
    target_include_directories(${target} BEFORE PRIVATE "${folder}/core/include")
  else()
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:belfry_suites>)
  endif()
  target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  belfry_private_includes(${target} belfry::core)
  belfry_compile_options(${target})
  separate_arguments(flags UNIX_COMMAND "${BELFRY_TEST_FLAGS}")
  target_compile_options(${target} PRIVATE ${flags})
  target_link_libraries(${target} PRIVATE ${BELFRY_SUITE_LINKS} GTest::gtest_main)
  add_test(NAME mutants.${name}
           COMMAND ${Python3_EXECUTABLE} "${CMAKE_CURRENT_SOURCE_DIR}/mutants/expect_killed.py"
                   $<TARGET_FILE:${target}> "${arg_KILLED_BY}")
  set_tests_properties(mutants.${name} PROPERTIES LABELS prop TIMEOUT 300)
endfunction()
