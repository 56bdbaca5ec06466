// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/trace.h"

#include <algorithm>

namespace belfry::tool {

const TraceStep* Trace::find(std::int64_t number) const {
  const auto found = std::ranges::lower_bound(steps, number, {}, &TraceStep::step);
  return found != steps.end() && found->step == number ? &*found : nullptr;
}

std::string Trace::variable_of(const TraceStep& step) const {
  const auto known = variables.find(step.variable);
  if (known != variables.end() && !known->second.name.empty()) return known->second.name;
  if (!step.name.empty()) return step.name;
  return "variable " + std::to_string(step.variable);
}

bool Trace::fails() const {
  if (failure.has_value()) return true;
  const JsonValue* const level = verdict.has_value() ? verdict->member("level") : nullptr;
  if (level != nullptr && (level->text == "RACY" || level->text == "REFUTED")) return true;
  return std::ranges::any_of(steps, [](const TraceStep& step) { return step.failed; });
}

}  // namespace belfry::tool
