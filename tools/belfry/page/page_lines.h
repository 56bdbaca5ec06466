// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/trace_job.h"

#include <cstddef>
#include <cstdint>
#include <istream>
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
  std::string packed;  ///< As PackedText.
  Trace trace{};       ///< With the steps of the page.
};

/// Reads a trace to the end, and keeps the steps within the bounds, with their values, and all
/// lines without steps. `name` is the file in messages. Throws: as parse_trace.
PageLines read_page_lines(std::istream& trace, const std::string& name, const PageBounds& bounds);

/// The last line of a page, as PackedText: failures in words, and in the order of the job the file
/// and the words of each step. The files of a page are in the order of the job.
std::string packed_words(const TraceJob& job);

}  // namespace belfry::tool
