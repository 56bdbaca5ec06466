// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "page/page_lines.h"

#include "belfry/detail/json.h"
#include "page/packed_text.h"
#include "trace/failure_words.h"
#include "trace/line_members.h"
#include "trace/step_words.h"
#include "trace/variable_states.h"

#include <fmt/format.h>

#include <limits>
#include <string_view>
#include <utility>

namespace belfry::tool {
namespace {

// The lines within the bounds.
class ChosenLines {
 public:
  explicit ChosenLines(const PageBounds& bounds) : bounds_(bounds) {}

  // Whether the page has the step. The line of the step is the next.
  bool takes(const TraceStep& step) {
    took_ = step.step >= bounds_.from && step.step < end_;
    if (took_ && (steps_ == bounds_.steps || is_full())) {
      took_ = false;
      end_ = step.step;
    }
    if (took_) ++steps_;
    return took_;
  }

  void take(const LineMembers& line, std::string_view text) {
    if (line.has("step") && !took_) return;
    if (line.has("value_of")) {
      const std::int64_t step = line.number("value_of");
      if (step < bounds_.from || step >= end_ || is_full()) return;
    }
    text_.add(ascii_json(text));
  }

  // The notes of the reader are the last line.
  PageLines finish(Trace trace) {
    std::string notes;
    for (const std::string& note : trace.notes) {
      notes += (notes.empty() ? "" : ",") + detail::json_string(note);
    }
    text_.add(ascii_json(fmt::format(R"({{"page":{{"left_out":{},"total":{},"notes":[{}]}}}})",
                                     trace.total - steps_, trace.total, notes)));
    return {.packed = text_.packed(), .trace = std::move(trace)};
  }

 private:
  bool is_full() const { return text_.packed().size() >= bounds_.packed_bytes; }

  const PageBounds& bounds_;
  PackedText text_;
  bool took_ = false;  // The last step.
  std::int64_t steps_ = 0;
  std::int64_t end_ = std::numeric_limits<std::int64_t>::max();  // The step after the last.
};

}  // namespace

PageLines read_page_lines(std::istream& trace, const std::string& name, const PageBounds& bounds) {
  ChosenLines chosen(bounds);
  return chosen.finish(parse_trace(
      trace, name,
      {.keep = [&](const TraceStep& step) { return chosen.takes(step); },
       .line = [&](const LineMembers& line, std::string_view text) { chosen.take(line, text); }}));
}

std::string packed_words(const TraceJob& job) {
  VariableStates states(job);
  std::string order;
  std::string words;
  for (const JobStep& at : job.order) {
    const TraceStep* const before = states.add(at);
    const char* const gap = order.empty() ? "" : ",";
    order += gap + std::to_string(at.process);
    words += gap + detail::json_string(step_words(job.trace_of(at), job.step(at), before));
  }
  std::string failures;
  for (const std::string& failure : failure_lines(job)) {
    failures += (failures.empty() ? "" : ",") + detail::json_string(failure);
  }
  PackedText text;
  text.add(ascii_json(
      fmt::format(R"({{"failures":[{}],"order":[{}],"words":[{}]}})", failures, order, words)));
  return text.packed();
}

}  // namespace belfry::tool
