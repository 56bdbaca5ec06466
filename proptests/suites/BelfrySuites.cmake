# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# The property suites, for strategies and backends of users. The suites are installed as sources
# beside this file and are compiled with the test program of the user:
#
#   add_executable(my_test my_factories.cpp)
#   belfry_add_suites(my_test SUITES merge_order_props reduce_props)
#   target_link_libraries(my_test PRIVATE GTest::gtest_main)
#
# my_factories.cpp defines belfry::testing::strategy_factory() and backend_factory(), which make the
# strategies and backends under test. Without SUITES all suites are added. Needs the packages
# rapidcheck, GTest and Eigen3. A new backend should first pass the suites of the backend interface,
# spi_*, which need no strategy_factory() and no Eigen3:
#
#   belfry_add_spi_suites(my_backend_test)

# In the cache: callers in other folders do not see ordinary variables of this folder.
set(BELFRY_SUITES
  axis_props cancellation_props carrier_props cross_replica_props destination_props
  element_traits_props exchange_props failure_props fused_update_props gradient_buckets_props
  group_props
  input_props invariant_props masked_props merge_name_props merge_order_props mirrored_props
  nest_props program_props reduce_props reduce_order_props replica_local_props scatter_props
  sum_overflow_props throwing_props unwinding_props vjp_props checkpoint_props sharded_props
  CACHE INTERNAL "All suites")
set(BELFRY_SUITE_LINKS belfry::testing rapidcheck_gtest GTest::gtest Eigen3::Eigen
  CACHE INTERNAL "Libraries of the suites")
set(BELFRY_SPI_SUITES spi_collective_props spi_exchange_props spi_kernel_props spi_stream_props
                      spi_user_kernel_props
  CACHE INTERNAL "The suites of the backend interface")

# belfry_add_suites(<target> [SUITES ...])
function(belfry_add_suites target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SUITES")
  if(arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "belfry_add_suites(<target> [SUITES <suite> ...]), with a suite at least")
  endif()
  if(NOT arg_SUITES)
    set(arg_SUITES ${BELFRY_SUITES})
  endif()
  set(here "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
  foreach(suite IN LISTS arg_SUITES)
    if(NOT suite IN_LIST BELFRY_SUITES)
      list(JOIN BELFRY_SUITES " " known)
      message(FATAL_ERROR "belfry has no suite '${suite}'; it has: ${known}")
    endif()
    if(suite STREQUAL "throwing_props")
      foreach(file IN ITEMS fault_sweep throwing_fixture throwing_props throwing_reductions
                            throwing_verbs)
        target_sources(${target} PRIVATE "${here}/throwing/${file}.cpp")
      endforeach()
      continue()
    endif()
    target_sources(${target} PRIVATE "${here}/${suite}.cpp")
    if(suite MATCHES "^(reduce|sum_overflow)_props$")
      target_sources(${target} PRIVATE "${here}/drawn_rows.cpp")
    endif()
  endforeach()
  target_sources(${target} PRIVATE "${here}/property.cpp" "${here}/watched_program.cpp")
  get_filename_component(root "${here}" DIRECTORY)
  target_include_directories(${target} PUBLIC "${root}")
  target_link_libraries(${target} PUBLIC ${BELFRY_SUITE_LINKS})
endfunction()

# belfry_add_spi_suites(<target>)
function(belfry_add_spi_suites target)
  if(ARGN)
    message(FATAL_ERROR "belfry_add_spi_suites(<target>) adds all of them")
  endif()
  set(here "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
  foreach(suite IN LISTS BELFRY_SPI_SUITES)
    target_sources(${target} PRIVATE "${here}/spi/${suite}.cpp")
  endforeach()
  target_sources(${target} PRIVATE "${here}/spi/spi_support.cpp" "${here}/watched_program.cpp")
  get_filename_component(root "${here}" DIRECTORY)
  target_include_directories(${target} PUBLIC "${root}")
  target_link_libraries(${target} PUBLIC belfry::testing rapidcheck_gtest GTest::gmock GTest::gtest)
endfunction()
