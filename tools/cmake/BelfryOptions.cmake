# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# All options of the build, and the settings of every target.

set(BELFRY_COMPONENTS AUTO CACHE STRING
    "Components to build, as a list: AUTO, names, -names (BelfryComponents.cmake)")
set(tests OFF)
if(PROJECT_IS_TOP_LEVEL AND "AUTO" IN_LIST BELFRY_COMPONENTS)
  set(tests ON)
endif()
option(BELFRY_BUILD_TESTS "Build the tests" ${tests})
option(BELFRY_BUILD_BENCHMARKS "Build the benchmarks" OFF)
option(BELFRY_BUILD_FUZZERS "Build the fuzz targets (clang only)" OFF)
option(BELFRY_GPU_TESTS "Register tests that need a GPU" OFF)
option(BELFRY_TESTS_TOGETHER "Make each test executable one test of ctest, not each TEST in it" OFF)
option(BELFRY_SHARED "Shared libraries; belfry::testing stays static" OFF)
option(BELFRY_WERROR "Treat warnings as errors" OFF)
option(BELFRY_UNITY_BUILD "Compile files in batches; OFF compiles each file alone" ON)
set(BELFRY_SANITIZE "" CACHE STRING "Sanitizers, as a list: address;undefined or thread")
# Test code is compiled without the checks for null and alignment, which double its size; an access
# to null ends a sanitized program in any case. The libraries have all checks.
set(test_flags "-O0 -g1")
if("undefined" IN_LIST BELFRY_SANITIZE)
  string(APPEND test_flags " -fno-sanitize=null,alignment")
endif()
# AddressSanitizer then checks every access to the stack. To leave out accesses that are provably
# right, clang analyses each function: twice the memory, and a fifth of the time.
if("address" IN_LIST BELFRY_SANITIZE AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  string(APPEND test_flags " -mllvm -asan-use-stack-safety=0")
endif()
set(BELFRY_TEST_FLAGS "${test_flags}" CACHE STRING
    "Options for test code, after those of the build type")

if(PROJECT_IS_TOP_LEVEL)
  get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  if(NOT multi_config AND NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  # Writes a source for each public header, and the target all_verify_interface_header_sets, which
  # compiles each of them alone.
  set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)
  # Jobs of ninja: a compilation takes at most 1.2 GB, all jobs together at most three quarters of
  # the memory.
  if(NOT CMAKE_JOB_POOL_COMPILE AND NOT CMAKE_JOB_POOL_LINK)
    cmake_host_system_information(RESULT memory QUERY TOTAL_PHYSICAL_MEMORY)
    math(EXPR jobs "${memory} * 3 / 4 / 1200")
    if(jobs LESS 1)
      set(jobs 1)
    endif()
    set_property(GLOBAL APPEND PROPERTY JOB_POOLS belfry=${jobs})
    set(CMAKE_JOB_POOL_COMPILE belfry)
    set(CMAKE_JOB_POOL_LINK belfry)
  endif()
  # Optional programs that make builds faster.
  find_program(BELFRY_CCACHE ccache)
  if(BELFRY_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${BELFRY_CCACHE}")
  endif()
  find_program(BELFRY_MOLD mold)
  if(BELFRY_MOLD)
    add_link_options($<$<LINK_LANGUAGE:CXX>:-fuse-ld=mold>)
  endif()
endif()

# Options of all targets of the project. In the build of another project, belfry::core hands the
# sanitizers on to its users (core/CMakeLists.txt).
if(BELFRY_SANITIZE)
  list(JOIN BELFRY_SANITIZE "," sanitizers)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${sanitizers};-fno-omit-frame-pointer>"
                      "$<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>")
  add_link_options(-fsanitize=${sanitizers})
endif()

if(BELFRY_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "BELFRY_BUILD_FUZZERS needs clang")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# The batches of libraries are groups of BelfryTargets.cmake. In other targets, batches have twelve
# files or as many as BATCH says.
set(CMAKE_UNITY_BUILD ${BELFRY_UNITY_BUILD})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)

include(GNUInstallDirs)
if(BELFRY_BUILD_TESTS)
  enable_testing()
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES
               "${CMAKE_CURRENT_LIST_DIR}/belfry_test_locale.cmake")
endif()
