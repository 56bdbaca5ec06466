# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Installs a CMake package and a pkg-config module. Each component has its own export file
# (belfry_install_component): a package without some components is usable.

include(CMakePackageConfigHelpers)

# The reasons of components that this build leaves out, for find_package.
set(belfry_reasons "")
foreach(component IN LISTS BELFRY_ALL_COMPONENTS)
  if(BELFRY_WITHOUT_${component})
    string(APPEND belfry_reasons
           "set(belfry_without_${component} \"${BELFRY_WITHOUT_${component}}\")\n")
  endif()
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/belfry)
set(BELFRY_SUITES_DIR ${CMAKE_INSTALL_DATADIR}/belfry/suites)
configure_package_config_file("${PROJECT_SOURCE_DIR}/tools/cmake/belfryConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/belfryConfig.cmake"
                              INSTALL_DESTINATION ${package_dir}
                              PATH_VARS BELFRY_SUITES_DIR)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/belfryConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/belfryConfig.cmake"
              "${PROJECT_BINARY_DIR}/belfryConfigVersion.cmake"
        DESTINATION ${package_dir} COMPONENT development)
if(BELFRY_HAVE_WATCH)
  install(FILES "${PROJECT_SOURCE_DIR}/tools/cmake/BelfryWatch.cmake"
                "${PROJECT_SOURCE_DIR}/tools/cmake/belfry_watch_builtins.h"
                "${PROJECT_SOURCE_DIR}/tools/cmake/belfry_watch_vectors.h"
                "${PROJECT_SOURCE_DIR}/tools/cmake/belfry_watch_calls.txt"
          DESTINATION ${package_dir} COMPONENT development)
  install(PROGRAMS "${PROJECT_SOURCE_DIR}/tools/cmake/belfry_watch_objects.sh"
          DESTINATION ${package_dir} COMPONENT development)
endif()
if(BELFRY_HAVE_CUDA)
  install(FILES "${PROJECT_SOURCE_DIR}/tools/cmake/FindNCCL.cmake" DESTINATION ${package_dir}
          COMPONENT development)
endif()

# Paths relative to the module: the prefix of the installation may differ from the configured
# prefix.
set(package_prefix "${CMAKE_INSTALL_PREFIX}")
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  file(RELATIVE_PATH package_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  set(package_prefix "\${pcfiledir}/${package_prefix}")
endif()
set(package_requires "")
set(package_libs "-lbelfry_core")
if(BELFRY_HAVE_SIM)
  set(package_libs "-lbelfry_sim -lbelfry_core")
endif()
# Shared libraries bring the libraries that they need along.
if(NOT BELFRY_SHARED)
  set(package_requires "fmt")
  string(REPLACE "_sim" "_sim -lbelfry_engine" package_libs "${package_libs}")
  string(APPEND package_libs " -lboost_context -pthread")
endif()
configure_file("${PROJECT_SOURCE_DIR}/tools/cmake/belfry.pc.in" "${PROJECT_BINARY_DIR}/belfry.pc"
               @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/belfry.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT development)
# Each library of extras, and the simulated driver, has a module of its own, which requires the
# module belfry. The driver's own headers of CUDA and NCCL come after all other folders. mpicxx, for
# which the module belfry-mpi is, knows MPI's folders.
foreach(extra driver files tower mpi)
  if(NOT TARGET belfry_${extra})
    continue()
  endif()
  set(extra_cflags "")
  if(extra STREQUAL "driver")
    set(extra_cflags "-idirafter \${includedir}/belfry/sim/toolkit")
  endif()
  configure_file("${PROJECT_SOURCE_DIR}/tools/cmake/belfry-extra.pc.in"
                 "${PROJECT_BINARY_DIR}/belfry-${extra}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/belfry-${extra}.pc"
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endforeach()
