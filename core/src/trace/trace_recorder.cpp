// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/detail/trace_recorder.h"

#include "belfry/detail/json.h"
#include "trace/failure_json.h"

#include <fmt/format.h>

#include <string>

namespace belfry::detail {

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
  step.number("round", operation.subject);
  Run& run = runs_[actor.run];
  const auto key_of = [&](const auto& name) {
    return operation.members == 0 ? std::string() : std::string(name);
  };
  if (operation.kind == OperationKind::kMerge) {
    const std::string key = key_of(operation.name);
    step.text("name", operation.name).line(operation.site);
    step.after(run.arrivals[key]);
    run.arrivals.erase(key);
    run.merges.erase(key);
    if (const auto number = writer_.step(step)) run.merges[key] = *number;
    return;
  }
  const bool gets = operation.kind == OperationKind::kResume;
  TracedValues values(writer_, values_, gets ? "gets" : "brings");
  show_merge_values(gets, values);
  if (!values.verb().empty()) step.text("name", values.verb());
  values.add_to(step.line(operation.site));
  const std::string key = key_of(values.verb());
  const auto merge = run.merges.find(key);
  if (gets && merge != run.merges.end()) step.after({&merge->second, 1});
  const std::optional<std::uint64_t> number = writer_.step(step);
  if (!number) return;
  if (!gets) run.arrivals[key].push_back(*number);
  values.show_later(*number);
}

}  // namespace belfry::detail
