# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Runs PROGRAM, whose lines are verdicts in JSON, and compares some members with the program.
execute_process(COMMAND "${PROGRAM}" OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCH "^([^\n]+)\n([^\n]+)\n$" matched "${printed}")
if(NOT matched)
  message(FATAL_ERROR "not two lines:\n${printed}")
endif()
set(lines_1 "${CMAKE_MATCH_1}")
set(lines_2 "${CMAKE_MATCH_2}")

# expect(<line> <text> <member> ...): the member of the line is the text.
function(expect line text)
  string(JSON found GET "${lines_${line}}" ${ARGN})
  if(NOT found STREQUAL text)
    message(FATAL_ERROR "line ${line}, ${ARGN}: '${found}', not '${text}'")
  endif()
endfunction()

expect(1 "train" name)
expect(1 "CERTIFIED" level)
expect(1 "[5.5, 5.5]" outcomes 0 outcome)
expect(2 "captured \"total\"" name)
expect(2 "REFUTED" level)
# The replicas in order, and the second first.
expect(2 "1" outcomes 0 outcome)
expect(2 "10" outcomes 1 outcome)
expect(2 "training.h:37" races 0 first place)
