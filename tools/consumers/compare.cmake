# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Runs PROGRAM with ARGUMENTS, and fails unless the output is the text of the file EXPECTED.
execute_process(COMMAND "${PROGRAM}" ${ARGUMENTS} OUTPUT_VARIABLE printed RESULT_VARIABLE status)
file(READ "${EXPECTED}" wanted)
if(NOT status EQUAL 0 OR NOT printed STREQUAL wanted)
  message(FATAL_ERROR "exit status ${status}\n--- expected\n${wanted}--- printed\n${printed}---")
endif()
