// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <cstdint>
#include <string>

namespace belfry::detail {

/// A place in a file of separated values. Lines and columns (in bytes) count from 1.
struct CsvPlace {
  std::int64_t line = 1;
  std::int64_t column = 1;
};

/// Throws: InvalidArgumentError (kFileFormat): `what`, at a place of the file `name`.
[[noreturn]] void fail_at(
    const std::string& name, CsvPlace place, const std::string& what, CallSite site,
    const std::string& hint = "lines of fields separated by commas, each with as many");

}  // namespace belfry::detail
