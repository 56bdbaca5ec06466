# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Looks for MPI for belfry::mpi, and sets `reason` if there is none. Else MPI::MPI_CXX exists. Also
# helpers for tests under mpirun.

set(MPI_CXX_SKIP_MPICXX TRUE)  # The functions of C alone.
find_package(MPI 3.1 QUIET COMPONENTS CXX)
if(MPI_CXX_FOUND)
  message(STATUS "MPI: ${MPI_CXX_VERSION}, ${MPIEXEC_EXECUTABLE}")
else()
  set(reason "no MPI 3.1 (Debian: libopenmpi-dev, openmpi-bin)")
endif()

# The arguments of mpirun, before `-n`. Open MPI refuses root, and more processes than processors,
# unless told; processes that share processors are bound to none.
set(BELFRY_MPIRUN ${MPIEXEC_EXECUTABLE} --allow-run-as-root --oversubscribe --bind-to none)
# Open MPI keeps memory to the end of the process, and unloads its plugins: the stacks of leaks have
# to be complete, down to a named library. ASAN_OPTIONS replaces the variable of tools/ci/test.sh.
set(leaks "${PROJECT_SOURCE_DIR}/proptests/mpi/leaks_of_mpi.txt")
set(BELFRY_MPI_ENVIRONMENT
    "LSAN_OPTIONS=suppressions=${leaks}:print_suppressions=0"
    "ASAN_OPTIONS=detect_stack_use_after_return=0:fast_unwind_on_malloc=0")

# belfry_mpi_test_run(<executable> LABELS ...)
# All tests of an executable under mpirun: <executable> on 3 processes, with the report of process 0
# for docs.rules, and <executable>.on_2, <executable>.on_4.
function(belfry_mpi_test_run executable)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LABELS")
  foreach(processes IN ITEMS 2 3 4)
    set(test ${executable}.on_${processes})
    set(report "")
    if(processes EQUAL 3)
      set(test ${executable})
      set(report "--gtest_output=json:${PROJECT_BINARY_DIR}/reports/${executable}.json")
    endif()
    add_test(NAME ${test}
             COMMAND ${BELFRY_MPIRUN} -n ${processes} $<TARGET_FILE:${executable}>
                     --gtest_brief=1 ${report})
    set_tests_properties(${test} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 600
      PROCESSORS 2 FAIL_REGULAR_EXPRESSION " 0 tests from"
      ENVIRONMENT "${BELFRY_MPI_ENVIRONMENT}")
  endforeach()
endfunction()
