// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/trace_step.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace belfry::tool {
namespace {

// In the order of StepKind.
constexpr std::array<std::string_view, 22> kNames = {
    "run_begin",     "run_end",   "start",     "end",           "throw",
    "arrive",        "merge",     "resume",    "variable_read", "variable_write",
    "variable_made", "enqueue",   "execute",   "collective",    "record",
    "wait",          "host_read", "host_wait", "allocate",      "free",
    "host_value",    "call"};

}  // namespace

bool differ(const TraceValue& one, const TraceValue& other) {
  if (one.type != other.type || one.shape != other.shape || one.count != other.count) return true;
  if (!one.digest.empty() && !other.digest.empty()) return one.digest != other.digest;
  if (!one.text.empty() && !other.text.empty()) return one.text != other.text;
  return !one.first.empty() && !other.first.empty() && one.first != other.first;
}

bool differ(const std::vector<TraceValue>& some, const std::vector<TraceValue>& others) {
  return !std::ranges::equal(some, others, [](const TraceValue& one, const TraceValue& other) {
    return one.leaf == other.leaf && !differ(one, other);
  });
}

std::string to_string(const TraceValue& value) {
  const std::string leaf = value.leaf.empty() ? "" : value.leaf + " ";
  if (value.first.empty() && !value.text.empty()) return leaf + value.text;
  if (value.first.empty()) {
    const bool empty = value.count == 0 && value.known();
    return fmt::format("{}{}[{}]{}", leaf, value.type.empty() ? "value" : value.type,
                       fmt::join(value.shape, ","), empty ? "" : ", not known");
  }
  if (value.shape.empty() && value.first.size() == 1) return leaf + value.first.front();
  const bool cut = value.count > static_cast<std::int64_t>(value.first.size());
  const std::string elements =
      fmt::format("[{}{}]", fmt::join(value.first, ", "), cut ? ", ..." : "");
  if (value.shape.size() > 1) {
    return fmt::format("{}{} as {}", leaf, elements, fmt::join(value.shape, " x "));
  }
  return leaf + elements + (cut ? fmt::format(" of {}", value.count) : "");
}

std::string to_string(const std::vector<TraceValue>& values) {
  std::string text;
  for (const TraceValue& value : values) text += (text.empty() ? "" : ", ") + to_string(value);
  return text;
}

StepKind step_kind(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  return static_cast<StepKind>(found - kNames.begin());
}

MergeId merge_of(const TraceStep& step) { return {step.run, step.group, step.round}; }

bool is_work(const TraceStep& step) {
  return step.kind == StepKind::kExecute || step.kind == StepKind::kCollective;
}

std::string short_line(std::string_view line) {
  return std::string(line.substr(line.find_last_of("/\\") + 1));  // All without a folder.
}

std::string place_of(const TraceStep& step) {
  std::string place = step.name.empty() ? step.kind_name : step.name;
  if (!step.op.empty()) place += " (" + step.op + ")";
  return step.line.empty() ? place : place + " at " + short_line(step.line);
}

}  // namespace belfry::tool
