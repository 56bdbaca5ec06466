# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Packages that the build needs. No public header includes the first group. BelfryComponents.cmake
# looks for the packages of single components.

find_package(Boost 1.74 CONFIG REQUIRED COMPONENTS context)
find_package(fmt 9 CONFIG REQUIRED)
find_package(nlohmann_json 3.11 CONFIG REQUIRED)
find_package(Threads REQUIRED)

if(BELFRY_BUILD_TESTS)
  find_package(GTest CONFIG REQUIRED)
  find_package(Eigen3 3.4 REQUIRED NO_MODULE)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()
if(BELFRY_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
  find_package(Eigen3 3.4 REQUIRED NO_MODULE)
endif()
