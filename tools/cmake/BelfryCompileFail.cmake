# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# belfry_compile_fail(<name> SOURCE file SECTIONS a b ... [LINKS ...])
# Each section of the file must fail to compile with the message that it expects, and the file
# without sections, the control, must compile. tools/checks/compile_fail.py says how to write them.
# Nothing with sanitizers: they change nothing about what compiles.
function(belfry_compile_fail name)
  if(NOT BELFRY_BUILD_TESTS OR BELFRY_SANITIZE)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE" "SECTIONS;LINKS")
  if(NOT arg_LINKS)
    set(arg_LINKS belfry::core)
  endif()
  # The control is built with everything else, and knows the include folders.
  add_library(${name} OBJECT ${arg_SOURCE})
  target_link_libraries(${name} PRIVATE ${arg_LINKS})
  set(includes "$<TARGET_PROPERTY:${name},INCLUDE_DIRECTORIES>")
  set(check ${Python3_EXECUTABLE} "${PROJECT_SOURCE_DIR}/tools/checks/compile_fail.py"
            "${CMAKE_CURRENT_SOURCE_DIR}/${arg_SOURCE}" --sections ${arg_SECTIONS})
  set(compiler -- ${CMAKE_CXX_COMPILER} -std=c++20
               "$<$<BOOL:${includes}>:-I$<JOIN:${includes},$<SEMICOLON>-I>>")
  foreach(section IN LISTS arg_SECTIONS)
    add_test(NAME ${name}.${section} COMMAND ${check} --section ${section} ${compiler}
             COMMAND_EXPAND_LISTS)
    set_tests_properties(${name}.${section} PROPERTIES LABELS unit)
  endforeach()
  add_test(NAME ${name}.control COMMAND ${check} ${compiler} COMMAND_EXPAND_LISTS)
  set_tests_properties(${name}.control PROPERTIES LABELS unit)
endfunction()
