// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/detail/trace_recorder.h"

#include "belfry/detail/json.h"
#include "trace/failure_json.h"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace belfry::detail {
namespace {

// `all_reduce` and `0, 2` of the name `all_reduce of group {0, 2}`; else no members.
std::pair<std::string_view, std::string_view> split_group(std::string_view name, bool is_group) {
  constexpr std::string_view kBefore = " of group {";
  const std::size_t end = is_group ? name.rfind(kBefore) : std::string_view::npos;
  if (end == std::string_view::npos) return {name, {}};
  const std::size_t begin = end + kBefore.size();
  return {name.substr(0, end), name.substr(begin, name.size() - 1 - begin)};
}

}  // namespace

void TraceRecorder::operation(const Operation& operation, const TraceActor& actor,
                              const TraceActor& caller) {
  if (operation.kind == OperationKind::kRunBegin) return begin_run(operation, actor, caller);
  if (operation.kind == OperationKind::kRunEnd) return end_run(operation, actor, caller);
  // A digest of values on the host comes between an access to a component and its use.
  if (operation.kind != OperationKind::kHostValue) variables_.settle(actor);
  TraceStep step(to_string(operation.kind), agent(actor.agent));
  if (actor.run != 0) step.number("run", actor.run);
  switch (operation.kind) {
    case OperationKind::kArrive:
    case OperationKind::kMerge:
    case OperationKind::kResume:
      return at_merge(operation, actor, std::move(step));
    case OperationKind::kVariableRead:
    case OperationKind::kVariableWrite:
      return variables_.touched(operation, actor, std::move(step));
    case OperationKind::kStart:
      if (const auto begin = runs_[actor.run].begin) step.after({&*begin, 1});
      writer_.step(step);
      return;
    case OperationKind::kEnd:
    case OperationKind::kThrow: {
      if (!operation.name.empty()) step.text("error", operation.name);
      if (const auto number = writer_.step(step)) runs_[actor.run].ends.push_back(*number);
      return;
    }
    case OperationKind::kHostValue:
      step.text("digest", fmt::format("{:016x}", operation.value)).json("bookkeeping", "true");
      writer_.step(step);
      return;
    case OperationKind::kWait:
      step.text("name", "variable").line(operation.site);
      writer_.step(step);
      return;
    default:
      return;
  }
}

void TraceRecorder::begin_run(const Operation& operation, const TraceActor& actor,
                              const TraceActor& caller) {
  TraceStep step("run_begin", agent(caller.agent));
  step.number("run", actor.run).number("replicas", operation.subject).line(operation.site);
  runs_[actor.run].begin = writer_.step(step);
}

void TraceRecorder::end_run(const Operation& operation, const TraceActor& actor,
                            const TraceActor& caller) {
  TraceStep step("run_end", agent(caller.agent));
  step.number("run", actor.run).after(runs_[actor.run].ends).line(operation.site);
  if (operation.failed) {
    const ErrorReport* const report = failure_of_run();
    const std::string failure = report != nullptr
                                    ? failure_json(*report)
                                    : "{\"text\":" + json_string(operation.name) + "}";
    step.json("failed", failure);
    writer_.line("{\"failure\":" + failure + "}");
  }
  writer_.step(step);
  runs_.erase(actor.run);
}

void TraceRecorder::at_merge(const Operation& operation, const TraceActor& actor, TraceStep step) {
  const bool is_merge = operation.kind == OperationKind::kMerge;
  const bool gets = operation.kind == OperationKind::kResume;
  TracedValues values(writer_, values_, gets ? "gets" : "brings");
  if (!is_merge) show_merge_values(gets, values);
  const auto [name, members] =
      split_group(is_merge ? operation.name : values.verb(), operation.members != 0);
  Meetings& own = runs_[actor.run].meetings[std::string(members)];
  if (is_merge) ++own.merges;
  step.number("round", own.merges + (is_merge || gets ? 0 : 1));
  if (!members.empty()) step.json("group", fmt::format("[{}]", members));
  if (!name.empty()) step.text("name", name);
  values.add_to(step.line(operation.site));
  if (is_merge) step.after(std::exchange(own.arrivals, {}));
  if (gets && own.latest) step.after({&*own.latest, 1});
  const std::optional<std::uint64_t> number = writer_.step(step);
  if (is_merge) own.latest = number;
  if (!number) return;
  if (!is_merge && !gets) own.arrivals.push_back(*number);
  values.show_later(*number);
}

}  // namespace belfry::detail
