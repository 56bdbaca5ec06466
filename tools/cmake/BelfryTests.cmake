# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Helpers for tests and benchmarks. Builds without tests or benchmarks ignore the calls: callers
# need no condition.
#
# Labels: unit (default), prop, cuda (host half on the simulated driver), gpu (needs a GPU), lint,
# headers, install, consumers. Two more labels name the tree that builds and runs a test, that of
# `tools/go test` or that of `tools/go test --rest`:
#   asan   with clang, AddressSanitizer and UndefinedBehaviorSanitizer: every test without NO_ASAN;
#   plain  with GCC and optimized: tests with NO_ASAN or PLAIN.
# A PLAIN test is in both trees: property suites, because sanitizers make many cases slow, and
# kernels, because users run optimized kernels.

if(BELFRY_BUILD_TESTS)
  include(GoogleTest)
  # These targets build all programs of `ctest -L asan` and `ctest -L plain`.
  add_custom_target(asan_tests)
  add_custom_target(plain_tests)
endif()

# belfry_test(<name> [SOURCES ...] [LABELS ...] [LINKS ...] [NO_ASAN] [PLAIN] [NO_MAIN] [NO_RUN]
#             [TIMEOUT seconds] [BATCH files] [ENVIRONMENT NAME=VALUE])
# belfry_test(<name> IN <executable> SOURCES ... [LINKS ...] [BATCH files])
# Adds one executable. Each TEST is a test of ctest. With BELFRY_TESTS_TOGETHER the executable is a
# single test with results in reports/<name>.json: the start of a sanitized program takes a fifth of
# a second. LINKS defaults to belfry::core and comes with GoogleTest and GoogleMock; RapidCheck is
# rapidcheck rapidcheck_gtest, Eigen is Eigen3::Eigen.
# With IN the sources are a part of that executable, which another belfry_test adds: the folders of
# a library share an executable, and link once. Tests with other flags, and tests that need a watch
# of host memory or its absence, have an executable of their own.
# With NO_RUN ctest does not start the executable itself, for example because mpirun does.
# BATCH is the number of files of a compilation, fewer than 12 where 12 take over 1.2 GB of memory.
# Tests below core/, backends/sim, ... can include the private headers of that library.
function(belfry_test name)
  if(NOT BELFRY_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_ASAN;PLAIN;NO_MAIN;NO_RUN"
                        "IN;TIMEOUT;BATCH;ENVIRONMENT" "SOURCES;LABELS;LINKS")
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(NOT arg_LINKS)
    set(arg_LINKS belfry::core)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(arg_IN)
    add_library(${name} OBJECT ${arg_SOURCES})
    target_link_libraries(${arg_IN} PRIVATE ${name})
  else()
    add_executable(${name} ${arg_SOURCES})
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
  if(arg_BATCH)
    set_target_properties(${name} PROPERTIES UNITY_BUILD_BATCH_SIZE ${arg_BATCH})
  endif()
  belfry_compile_options(${name})
  belfry_private_includes(${name} ${arg_LINKS})
  # belfry/testing/asserts.h needs GoogleTest alone, unlike belfry::testing.
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/proptests/include")
  separate_arguments(flags UNIX_COMMAND "${BELFRY_TEST_FLAGS}")
  target_compile_options(${name} PRIVATE ${flags})
  target_link_libraries(${name} PUBLIC ${arg_LINKS} GTest::gmock
    $<IF:$<BOOL:${arg_NO_MAIN}>,GTest::gtest,GTest::gtest_main> Threads::Threads)
  if(arg_IN)
    return()
  endif()
  if(NOT arg_NO_ASAN)
    if(NOT cuda IN_LIST arg_LABELS)
      set_property(GLOBAL APPEND PROPERTY BELFRY_RULE_TESTS ${name})
    endif()
    list(APPEND arg_LABELS asan)
    add_dependencies(asan_tests ${name})
  endif()
  if(arg_NO_ASAN OR arg_PLAIN)
    list(APPEND arg_LABELS plain)
    add_dependencies(plain_tests ${name})
  endif()
  if(arg_NO_RUN)
    return()
  endif()
  if(BELFRY_TESTS_TOGETHER)
    belfry_test_run(${name} ${name} LABELS ${arg_LABELS} ENVIRONMENT ${arg_ENVIRONMENT})
    return()
  endif()
  # One label at a time: gtest_discover_tests passes on the first element of a list only.
  list(TRANSFORM arg_LABELS PREPEND "LABELS;")
  if(arg_ENVIRONMENT)
    list(APPEND arg_LABELS ENVIRONMENT ${arg_ENVIRONMENT})
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES ${arg_LABELS} TIMEOUT ${arg_TIMEOUT})
endfunction()

# belfry_test_run(<test> <executable> LABELS ... [ENVIRONMENT NAME=VALUE ...] [ONE_CPU])
# All tests of an executable as one test of ctest, with ONE_CPU on one CPU. Long tests start first.
function(belfry_test_run test executable)
  cmake_parse_arguments(PARSE_ARGV 2 arg "ONE_CPU" "" "LABELS;ENVIRONMENT")
  set(launcher)
  if(arg_ONE_CPU)
    set(launcher ${Python3_EXECUTABLE} "${PROJECT_SOURCE_DIR}/tools/ci/on_one_cpu.py")
  endif()
  add_test(NAME ${test} COMMAND ${launcher} $<TARGET_FILE:${executable}> --gtest_brief=1
           "--gtest_output=json:${PROJECT_BINARY_DIR}/reports/${test}.json")
  set_tests_properties(${test} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 3600
    FAIL_REGULAR_EXPRESSION " 0 tests from" ENVIRONMENT "${arg_ENVIRONMENT}")
  if("prop" IN_LIST arg_LABELS)
    set_tests_properties(${test} PROPERTIES COST 100)
  endif()
endfunction()

# belfry_on_threads(<name> [CAMPAIGN <carriers>]): all property tests of an executable once more,
# with replicas on threads. Fewer cases, because threads are slower. The campaign alone runs the
# tests of the carriers behind CAMPAIGN.
function(belfry_on_threads name)
  if(NOT TARGET ${name})
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "CAMPAIGN")
  foreach(carrier IN ITEMS baton concurrent)
    set(one_cpu)
    if(carrier STREQUAL "baton")  # Its threads never run at once.
      set(one_cpu ONE_CPU)
    endif()
    set(labels prop)
    if(NOT carrier IN_LIST arg_CAMPAIGN)
      list(APPEND labels plain)
    endif()
    belfry_test_run(${name}.on_${carrier} ${name} LABELS ${labels} ${one_cpu}
      ENVIRONMENT BELFRY_TESTING_CARRIER=${carrier} RC_PARAMS=max_success=30)
  endforeach()
endfunction()

# belfry_gpu_test(<name> SOURCES ... LINKS ...): a test executable that needs a GPU. Built if there
# is a toolkit; a test of ctest with BELFRY_GPU_TESTS only.
function(belfry_gpu_test name)
  if(NOT BELFRY_BUILD_TESTS OR NOT BELFRY_HAVE_CUDA)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  add_executable(${name} ${arg_SOURCES})
  # CMake 3.31 would make batches of CUDA sources, too, which define the same names.
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  belfry_compile_options(${name})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/proptests/include")
  target_link_libraries(${name} PRIVATE ${arg_LINKS} GTest::gmock GTest::gtest_main
                                        Threads::Threads)
  if(BELFRY_GPU_TESTS)
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                         PROPERTIES LABELS gpu TIMEOUT 600)
  endif()
endfunction()

# belfry_bench(<name> SOURCES ... [LINKS ...]): a Google Benchmark executable.
function(belfry_bench name)
  if(NOT BELFRY_BUILD_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  if(NOT arg_LINKS)
    set(arg_LINKS belfry::core)
  endif()
  add_executable(${name} ${arg_SOURCES})
  # A compiler that sees the measured functions may leave calls out.
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  belfry_compile_options(${name})
  belfry_private_includes(${name} ${arg_LINKS})
  target_link_libraries(${name} PRIVATE ${arg_LINKS} benchmark::benchmark_main)
endfunction()

# belfry_fuzz(<name> SOURCES ... [LINKS ...]): a libFuzzer executable; <name> ends with _fuzz.
function(belfry_fuzz name)
  if(NOT BELFRY_BUILD_FUZZERS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  if(NOT arg_LINKS)
    set(arg_LINKS belfry::core)
  endif()
  add_executable(${name} ${arg_SOURCES})
  belfry_compile_options(${name})
  belfry_private_includes(${name} ${arg_LINKS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE ${arg_LINKS})
endfunction()

# Adds the private headers of the tested libraries to the include folders.
function(belfry_private_includes name)
  foreach(link IN LISTS ARGN)
    if(link MATCHES "^belfry(::|_)")
      string(REPLACE "belfry::" "belfry_" library "${link}")
      target_include_directories(${name} PRIVATE
        $<TARGET_PROPERTY:${library},BELFRY_SOURCE_DIR>)
    endif()
  endforeach()
endfunction()
