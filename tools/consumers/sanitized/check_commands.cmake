# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Reads FOLDER/compile_commands.json and fails unless every source of belfry, and train.cpp, which
# is linked with belfry, is compiled with the sanitizers, and alone.cpp without them.
file(READ "${FOLDER}/compile_commands.json" commands)
string(JSON last LENGTH "${commands}")
math(EXPR last "${last} - 1")
foreach(i RANGE ${last})
  string(JSON file GET "${commands}" ${i} file)
  string(JSON command GET "${commands}" ${i} command)
  string(FIND "${command}" " -fsanitize=address,undefined " at)
  if(file MATCHES "/alone[.]cpp$" AND NOT at EQUAL -1)
    message(FATAL_ERROR "${file} has the sanitizers of belfry:\n${command}")
  elseif(NOT file MATCHES "/alone[.]cpp$" AND at EQUAL -1)
    message(FATAL_ERROR "${file} is compiled without sanitizers:\n${command}")
  endif()
endforeach()
if(NOT commands MATCHES "/train[.]cpp" OR NOT commands MATCHES "/core/src/")
  message(FATAL_ERROR "no commands for train.cpp or for belfry's sources")
endif()
