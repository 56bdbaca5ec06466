// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <set>
#include <string>

namespace belfry::tool {

/// The bounds of a page.
struct PageBounds {
  std::int64_t from = 0;                 ///< The first step.
  std::int64_t steps = 50'000;           ///< The most steps.
  std::size_t packed_bytes = 9'600'000;  ///< The most bytes of packed lines.
};

/// The lines of a trace on a page.
struct PageLines {
  std::string packed;            ///< As PackedText.
  std::set<std::string> places;  ///< The lines of source of the steps, `file.cpp:12`.
  std::int64_t steps = 0;        ///< The number of steps in `packed`.
  std::int64_t total = 0;        ///< The number of steps of the trace.
};

/// Reads a trace to the end, and keeps the steps within the bounds, with their values, and all
/// lines without steps. `name` is the file in messages. Throws: as parse_trace.
PageLines read_page_lines(std::istream& trace, const std::string& name, const PageBounds& bounds);

}  // namespace belfry::tool
