# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Looks for CUDA and NCCL for belfry::cuda, and sets `reason` if one is missing. Else CUDA is a
# language of the project, and CUDA::cudart_static and NCCL::nccl exist. The host half on the
# simulated driver needs no toolkit.

include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  set(reason "no nvcc: set CUDACXX or CMAKE_CUDA_COMPILER")
  return()
endif()

# The version is checked before CUDA is enabled: an old nvcc fails there with a message about
# unknown architectures.
execute_process(COMMAND "${CMAKE_CUDA_COMPILER}" --version
                OUTPUT_VARIABLE BELFRY_NVCC_VERSION ERROR_QUIET)
if(BELFRY_NVCC_VERSION MATCHES "release ([0-9]+[.][0-9]+)" AND CMAKE_MATCH_1 VERSION_LESS 12.0)
  set(reason "CUDA ${CMAKE_MATCH_1} has no C++20, 12.0 or newer is needed")
  return()
endif()

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  # Machine code for each generation from Turing on, and PTX for later generations.
  set(CMAKE_CUDA_ARCHITECTURES
      75-real 80-real 86-real 89-real 90-real 100-real 120
      CACHE STRING "GPU architectures")
endif()
enable_language(CUDA)
# CMake 3.25.1 does not know that nvcc has C++20.
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
find_package(CUDAToolkit REQUIRED)
find_package(NCCL QUIET)
if(NOT NCCL_FOUND)
  set(reason "no NCCL: set NCCL_ROOT or NCCL_HOME")
  return()
elseif(NCCL_VERSION AND NCCL_VERSION VERSION_LESS 2.18)
  set(reason "NCCL ${NCCL_VERSION} is too old, 2.18 or newer is needed")
  return()
endif()

set(BELFRY_DRIVER_TEXT "")
if(NOT EXISTS /proc/driver/nvidia/version)
  set(BELFRY_DRIVER_TEXT "; no driver on this machine, so that nothing here runs it")
endif()
message(STATUS "CUDA backend: CUDA ${CUDAToolkit_VERSION}, NCCL ${NCCL_VERSION}, "
               "architectures ${CMAKE_CUDA_ARCHITECTURES}${BELFRY_DRIVER_TEXT}")
