# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Packages that the build needs. No public header includes the first group.

find_package(Boost 1.74 CONFIG REQUIRED COMPONENTS context)
find_package(fmt 9 CONFIG REQUIRED)
find_package(nlohmann_json 3.11 CONFIG REQUIRED)
find_package(Threads REQUIRED)

if(BELFRY_BUILD_TESTS)
  find_package(GTest CONFIG REQUIRED)
  find_package(Eigen3 3.4 REQUIRED NO_MODULE)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()
# belfry::testing is installed for property tests of users, so RapidCheck is found without tests
# too.
find_package(rapidcheck CONFIG QUIET)
if(BELFRY_BUILD_TESTS AND NOT rapidcheck_FOUND)
  message(FATAL_ERROR "RapidCheck is needed for the tests (Debian: librapidcheck-dev)")
endif()
if(BELFRY_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
  find_package(Eigen3 3.4 REQUIRED NO_MODULE)
endif()
if(BELFRY_BUILD_TOOLS)
  find_package(CLI11 2.1 REQUIRED)
endif()
