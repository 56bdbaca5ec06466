# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Debian packages of the shared libraries, made by CPack in the preset `packages`:
#   libbelfry<version of the interface>  the shared libraries
#   libbelfry-dev                        headers, links for linkers, CMake and pkg-config files
#   libbelfry-testing-dev                belfry::testing and the suites, if RapidCheck is found
# The maintainer of the packages is whoever builds them: -DCPACK_DEBIAN_PACKAGE_MAINTAINER=...

if(NOT PROJECT_IS_TOP_LEVEL OR NOT BELFRY_SHARED)
  return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME belfry)
set(CPACK_PACKAGE_VENDOR "The belfry authors")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/debian")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The belfry authors <belfry@localhost>" CACHE STRING
    "Name and mail address of the maintainer of Debian packages")

# debian_package(<component> <name> <section> <depends> <description>): the first line of every
# description is PROJECT_DESCRIPTION.
macro(debian_package component name section depends description)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  string(TOUPPER ${component} key)
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${key}_PACKAGE_DEPENDS "${depends}")
  set(CPACK_DEBIAN_${key}_DESCRIPTION "${description}")
  install(FILES "${PROJECT_SOURCE_DIR}/tools/cmake/debian_copyright.txt" RENAME copyright
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component})
endmacro()

set(libraries libbelfry${BELFRY_SOVERSION})
# Debian wants lines of at most 79 columns.
set(about "belfry runs one function on every device of a strategy, lets the copies
meet to combine their values, and keeps variables equal on all devices.")
set(CPACK_COMPONENTS_ALL "")
debian_package(runtime ${libraries} libs ""
  "${about}
This package has the libraries for programs.")
set(development_needs "${libraries} (= ${PROJECT_VERSION})")
if(TARGET belfry_watch)
  string(APPEND development_needs ", libdw-dev")
endif()
debian_package(development libbelfry-dev libdevel "${development_needs}"
  "${about}
This package has the headers, and files for CMake and pkg-config.")
if(TARGET belfry_testing)
  debian_package(testing libbelfry-testing-dev libdevel
    "libbelfry-dev (= ${PROJECT_VERSION}), librapidcheck-dev, libgtest-dev, libgmock-dev, \
libeigen3-dev"
    "${about}
This package has generators for property tests, the contracts of strategies,
and the suites for strategies and backends of users, as sources.")
endif()
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
file(WRITE "${PROJECT_BINARY_DIR}/debian/triggers" "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/debian/triggers")
include(CPack)
