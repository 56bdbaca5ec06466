// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "page/page_lines.h"

#include "belfry/detail/json.h"
#include "page/packed_text.h"
#include "trace/line_members.h"
#include "trace/trace_reader.h"

#include <fmt/format.h>

#include <limits>
#include <string_view>

namespace belfry::tool {
namespace {

// The lines within the bounds.
class ChosenLines {
 public:
  explicit ChosenLines(const PageBounds& bounds) : bounds_(bounds) {}

  void take(const LineMembers& line, std::string_view text) {
    if (line.has("step")) return take_step(line, text);
    if (line.has("buffer")) return;  // The page tells nothing of memory.
    const std::int64_t step = line.number("value_of", bounds_.from);
    if (step < bounds_.from || step >= end_ || (line.has("value_of") && is_full())) return;
    text_.add(ascii_json(text));
  }

  // The notes of the reader are the last line.
  PageLines finish(const Trace& trace) {
    std::string notes;
    for (const std::string& note : trace.notes) {
      notes += (notes.empty() ? "" : ",") + detail::json_string(note);
    }
    lines_.total = trace.total;
    text_.add(ascii_json(fmt::format(R"({{"page":{{"left_out":{},"total":{},"notes":[{}]}}}})",
                                     lines_.total - lines_.steps, lines_.total, notes)));
    lines_.packed = text_.packed();
    return std::move(lines_);
  }

 private:
  void take_step(const LineMembers& line, std::string_view text) {
    const std::int64_t step = line.number("step");
    if (step < bounds_.from || step >= end_) return;
    if (lines_.steps == bounds_.steps || is_full()) {
      end_ = step;
      return;
    }
    ++lines_.steps;
    if (line.has("line")) lines_.places.insert(line.text("line"));
    text_.add(ascii_json(text));
  }

  bool is_full() const { return text_.packed().size() >= bounds_.packed_bytes; }

  const PageBounds& bounds_;
  PageLines lines_;
  PackedText text_;
  std::int64_t end_ = std::numeric_limits<std::int64_t>::max();  // The step after the last.
};

}  // namespace

PageLines read_page_lines(std::istream& trace, const std::string& name, const PageBounds& bounds) {
  ChosenLines chosen(bounds);
  return chosen.finish(parse_trace(
      trace, name,
      {.keep = [](const TraceStep&) { return false; },
       .line = [&](const LineMembers& line, std::string_view text) { chosen.take(line, text); }}));
}

}  // namespace belfry::tool
