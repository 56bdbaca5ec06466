# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Fails unless each contract and each suite that PAGE names as a source is installed in FOLDER.
file(READ "${PAGE}" text)
string(REGEX MATCHALL "`proptests/(src/contracts|suites)/[a-z_]+[.]cpp`" named "${text}")
list(TRANSFORM named REPLACE "`proptests/(src/)?([^`]*)`" "\\2")
if(NOT named MATCHES "contracts/run.cpp" OR NOT named MATCHES "suites/merge_order_props.cpp")
  message(FATAL_ERROR "the page names: ${named}")
endif()
foreach(source IN LISTS named)
  if(NOT EXISTS "${FOLDER}/${source}")
    message(FATAL_ERROR "${source} is not installed in ${FOLDER}")
  endif()
endforeach()
