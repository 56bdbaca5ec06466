# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Helpers for libraries. A library is declared once, in the folder with its include/ and src/. Each
# folder below adds its own files:
#
#   belfry_library(sim PUBLIC_LINKS belfry::core)                 # backends/sim/CMakeLists.txt
#   belfry_sources(sim SOURCES stream.cpp HEADERS sim/stream.h)   # any folder below it
#
# SOURCES are relative to the current folder, HEADERS to the library's include/belfry.
# Private headers are included relative to the library's src folder ("kernels/dispatch.h").

# Warnings and floating-point rules of every target of the project. GCC 12 with -O3 warns of copies
# inside std::string that no call makes.
function(belfry_compile_options target)
  set(gcc_12 $<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -ffp-contract=off>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,${gcc_12},$<CONFIG:Release>>:-Wno-restrict>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${BELFRY_WERROR}>>:-Werror>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-ffp-contract=off>
    $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${BELFRY_WERROR}>>:-Werror=all-warnings>)
endfunction()

# The version in the names of shared libraries. Before 1.0 a minor version may change the interface.
set(BELFRY_SOVERSION ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(BELFRY_SOVERSION 0.${PROJECT_VERSION_MINOR})
endif()

# belfry_library(<component> [STATIC] [PACKAGE package] [PUBLIC_LINKS ...] [PRIVATE_LINKS ...])
# Makes target belfry_<component>, alias and export name belfry::<component>. STATIC libraries are
# static with BELFRY_SHARED, too. All files of a library with a PACKAGE belong to the package, see
# BelfryDebian.cmake.
function(belfry_library component)
  cmake_parse_arguments(PARSE_ARGV 1 arg "STATIC" "PACKAGE" "PUBLIC_LINKS;PRIVATE_LINKS")
  set(target belfry_${component})
  if(BELFRY_SHARED AND NOT arg_STATIC)
    add_library(${target} SHARED)
    set_target_properties(${target} PROPERTIES
      VERSION ${PROJECT_VERSION} SOVERSION ${BELFRY_SOVERSION})
  else()
    add_library(${target} STATIC)
  endif()
  add_library(belfry::${component} ALIAS ${target})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${component} POSITION_INDEPENDENT_CODE ON LINKER_LANGUAGE CXX UNITY_BUILD_MODE GROUP
    BELFRY_INCLUDE_DIR "${CMAKE_CURRENT_SOURCE_DIR}/include"
    BELFRY_SOURCE_DIR "${CMAKE_CURRENT_SOURCE_DIR}/src")
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${CMAKE_CURRENT_SOURCE_DIR}/include")
  target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/src")
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC_LINKS} PRIVATE ${arg_PRIVATE_LINKS})
  belfry_compile_options(${target})
  belfry_install_component(${component} ${arg_PACKAGE})
  if(BELFRY_BUILD_TESTS)
    add_dependencies(plain_tests ${target})  # Tests of the label install use what is installed.
  endif()
endfunction()

# belfry_sources(<component> [OPTIMIZE] [BATCH files] [SOURCES ...] [HEADERS ...])
# OPTIMIZE compiles these sources with -O3 whatever the build type, -O1 under sanitizers. CMake
# compiles files with options of their own alone, all others in batches (belfry_batches).
function(belfry_sources component)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMIZE" "BATCH" "SOURCES;HEADERS")
  set(target belfry_${component})
  if(NOT arg_BATCH)
    set(arg_BATCH 16)
  endif()
  belfry_batches(${target} ${arg_BATCH} ${arg_SOURCES})
  list(TRANSFORM arg_SOURCES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  target_sources(${target} PRIVATE ${arg_SOURCES})
  # With sanitizers, -O3 takes minutes for a file: every access of an unrolled loop is instrumented.
  if(arg_OPTIMIZE AND arg_SOURCES)
    set(level "-O3")
    if(BELFRY_SANITIZE)
      set(level "-O1")
    endif()
    set_source_files_properties(${arg_SOURCES} TARGET_DIRECTORY ${target}
                                PROPERTIES COMPILE_OPTIONS "${level}")
  endif()
  if(arg_HEADERS)
    get_target_property(include_dir ${target} BELFRY_INCLUDE_DIR)
    list(TRANSFORM arg_HEADERS PREPEND "${include_dir}/belfry/")
    target_sources(${target} PUBLIC FILE_SET HEADERS FILES ${arg_HEADERS})
  endif()
endfunction()

# belfry_batches(<target> <files> <source> ...)
# Compiles sources of the current folder in batches of at most this number of files. Batches keep
# the order of the sources and never span folders. A batch has the name of its first file.
function(belfry_batches target files)
  set(group "")
  foreach(source IN LISTS ARGN)
    if(NOT source MATCHES "[.]cpp$")
      continue()  # Sources of CUDA define the same names.
    endif()
    get_filename_component(here "${source}" DIRECTORY)
    if(NOT group OR NOT here STREQUAL folder OR count EQUAL files)
      file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
      string(REGEX REPLACE "[.]cpp$" "" path "${path}")
      string(MAKE_C_IDENTIFIER "${path}" group)
      set(folder "${here}")
      set(count 0)
    endif()
    set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/${source}" TARGET_DIRECTORY ${target}
                                PROPERTIES UNITY_GROUP ${group})
    math(EXPR count "${count} + 1")
  endforeach()
endfunction()

# belfry_install_component(<component> [package])
# Installs one component with its own export file. A package without the component remains complete
# for users of the others.
function(belfry_install_component component)
  set(runtime runtime)
  set(development development)
  if(ARGN)
    set(runtime ${ARGN})
    set(development ${ARGN})
  endif()
  install(TARGETS belfry_${component} EXPORT belfry-${component}-targets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
                  COMPONENT ${runtime} NAMELINK_COMPONENT ${development}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${development}
          FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT ${development})
  install(EXPORT belfry-${component}-targets NAMESPACE belfry:: COMPONENT ${development}
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/belfry)
endfunction()
