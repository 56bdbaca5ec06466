// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/line_members.h"
#include "trace/trace.h"

#include <cstdint>
#include <fstream>
#include <functional>
#include <istream>
#include <string>
#include <string_view>

namespace belfry::tool {

class Console;

struct TraceReading {
  /// Steps with the result false are not kept, and take no memory. Null: all are kept.
  std::function<bool(const TraceStep&)> keep{};
  /// Called for each line of good form, also if its step is not kept.
  std::function<void(const LineMembers& line, std::string_view text)> line{};
  /// Called now and then with the number of steps.
  std::function<void(std::int64_t)> progress{};
};

/// Reads a trace line by line. A torn last line is left out, with a note.
/// Unknown members, kinds of steps and lines are passed over.
/// Throws: InvalidArgumentError (kFileFormat) with file, line, column and the expectation.
Trace parse_trace(std::istream& in, const std::string& name, const TraceReading& how = {});
/// Progress as a line of the console.
TraceReading reading_with_progress(Console& console);
/// Opens the file of a trace. Throws: UnreadableFile with the reason of the system.
std::ifstream open_trace(const std::string& path);
/// The same as parse_trace for a file. Throws: UnreadableFile.
Trace read_trace(const std::string& path, const TraceReading& how = {});
/// Throws: InvalidArgumentError (kFile) if a command would write `output` over the trace it reads.
void require_other_file(const std::string& trace, const std::string& output);

}  // namespace belfry::tool
