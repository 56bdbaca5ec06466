# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# belfry_compile_fail(<name> SOURCE file SECTIONS a b ... [LINKS ...] [TWO_COMPILERS]
#                     [COMPILER program])
# Each section of the file must fail to compile with the message in the section. The file without
# sections, the control, must compile. tools/checks/compile_fail.py describes the format.
# The test <name>.compile compiles all sections at once and writes a report; each section and the
# control are tests that read the report. COMPILER is a clang in place of the compiler of the build.
# TWO_COMPILERS adds the same tests with clang 19, as <name>_clang; a build with clang has its own
# compiler alone.
# No tests in builds with sanitizers, which accept the same programs.
function(belfry_compile_fail name)
  if(NOT BELFRY_BUILD_TESTS OR BELFRY_SANITIZE)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "TWO_COMPILERS" "SOURCE;COMPILER" "SECTIONS;LINKS")
  if(NOT arg_LINKS)
    set(arg_LINKS belfry::core)
  endif()
  if(arg_TWO_COMPILERS AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    belfry_compile_fail(${name}_clang SOURCE ${arg_SOURCE} SECTIONS ${arg_SECTIONS}
                        LINKS ${arg_LINKS} COMPILER clang++-19)
  endif()
  # Provides the include folders. The target is never built; the test of the control compiles the
  # file.
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${arg_SOURCE})
  target_link_libraries(${name} PRIVATE ${arg_LINKS})
  set(includes "$<TARGET_PROPERTY:${name},INCLUDE_DIRECTORIES>")
  set(check ${Python3_EXECUTABLE} "${PROJECT_SOURCE_DIR}/tools/checks/compile_fail.py"
            "${CMAKE_CURRENT_SOURCE_DIR}/${arg_SOURCE}"
            --report "${CMAKE_CURRENT_BINARY_DIR}/${name}.json")
  # GCC reports all errors; clang stops at the 20th.
  set(compiler "${CMAKE_CXX_COMPILER}")
  set(all_errors "")
  if(arg_COMPILER OR CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set(all_errors -ferror-limit=0)
  endif()
  if(arg_COMPILER)
    set(compiler "${arg_COMPILER}")
  endif()
  add_test(NAME ${name}.compile
           COMMAND ${check} --sections ${arg_SECTIONS} -- ${compiler} -std=c++20
                   ${all_errors}
                   "$<$<BOOL:${includes}>:-I$<JOIN:${includes},$<SEMICOLON>-I>>"
           COMMAND_EXPAND_LISTS)
  set_tests_properties(${name}.compile PROPERTIES LABELS "unit;plain" FIXTURES_SETUP ${name})
  foreach(section IN LISTS arg_SECTIONS)
    add_test(NAME ${name}.${section} COMMAND ${check} --section ${section})
  endforeach()
  add_test(NAME ${name}.control COMMAND ${check} --control)
  set(readers ${arg_SECTIONS} control)
  list(TRANSFORM readers PREPEND "${name}.")
  set_tests_properties(${readers} PROPERTIES LABELS "unit;plain" FIXTURES_REQUIRED ${name})
endfunction()
