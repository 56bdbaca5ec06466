// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/detail/trace_recorder.h"

#include "belfry/detail/json.h"
#include "trace/failure_json.h"

#include <fmt/format.h>

namespace belfry::detail {

// The values that a replica brings to a merge or gets from it.
class TraceRecorder::Values final : public ValueVisitor {
 public:
  Values(const TraceRecorder& recorder, const char* list)
      : device_(recorder.values_), list_(list), has_elements_(recorder.writer_.options().values) {}

  void value(const ShownValue& shown) override {
    TracedValue value;
    value.type = shown.dtype != nullptr ? to_string(*shown.dtype) : std::string(shown.type);
    value.extents.assign(shown.extents.begin(), shown.extents.end());
    value.count = shown.count;
    value.leaf = shown.leaf;
    if (has_elements_) value.text = shown.text;
    if (shown.data != nullptr && shown.dtype != nullptr && has_elements_) {
      value.elements = traced_elements(*shown.dtype, shown.data, shown.count);
    }
    if (shown.view != nullptr && device_ != nullptr) {
      device_->show(*shown.view, value);
      if (value.elements.empty() && has_elements_) later_.push_back({*shown.view, values_.size()});
    }
    values_.push_back(std::move(value));
  }
  void op(std::string_view name) override { op_ = name; }

  void add_to(TraceStep& step) const {
    if (!op_.empty()) step.text("op", op_);
    step.values(list_, values_);
  }
  void show_later(std::uint64_t step) const {
    for (const auto& [view, index] : later_) device_->show_later(view, step, list_, index);
  }

 private:
  struct Later {
    BufferView view;
    std::size_t index;
  };
  DeviceValues* device_;
  const char* list_;
  bool has_elements_;
  std::string op_;
  std::vector<TracedValue> values_;
  std::vector<Later> later_;
};

void TraceRecorder::operation(const Operation& operation, const TraceActor& actor,
                              const TraceActor& caller) {
  if (operation.kind == OperationKind::kRunBegin) return begin_run(operation, actor, caller);
  if (operation.kind == OperationKind::kRunEnd) return end_run(operation, actor, caller);
  TraceStep step(to_string(operation.kind), agent(actor.agent));
  if (actor.run != 0) step.number("run", actor.run);
  switch (operation.kind) {
    case OperationKind::kArrive:
    case OperationKind::kMerge:
    case OperationKind::kResume:
      return at_merge(operation, actor, std::move(step));
    case OperationKind::kVariableRead:
    case OperationKind::kVariableWrite:
      return at_variable(operation, actor, std::move(step));
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
  const std::uint64_t round = operation.subject;
  step.number("round", round);
  if (!operation.name.empty()) step.text("name", operation.name);
  step.line(operation.site);
  Run& run = runs_[actor.run];
  if (operation.kind == OperationKind::kMerge) {
    step.after(run.arrivals[round]);
    run.arrivals.erase(round);
    run.merges.erase(run.merges.begin(), run.merges.end());
    if (const auto number = writer_.step(step)) run.merges[round] = *number;
    return;
  }
  const bool gets = operation.kind == OperationKind::kResume;
  Values values(*this, gets ? "gets" : "brings");
  show_merge_values(gets, values);
  values.add_to(step);
  const auto merge = run.merges.find(round);
  if (gets && merge != run.merges.end()) step.after({&merge->second, 1});
  const std::optional<std::uint64_t> number = writer_.step(step);
  if (!number) return;
  if (!gets) run.arrivals[round].push_back(*number);
  values.show_later(*number);
}

void TraceRecorder::at_variable(const Operation& operation, const TraceActor& actor,
                                TraceStep step) {
  const std::uint64_t variable = operation.subject;
  if (variables_.insert(variable).second) {
    writer_.line(
        fmt::format("{{\"variable\":{},\"name\":{}}}", variable, json_string(operation.name)));
  }
  std::uint64_t& version = versions_[{variable, actor.agent}];
  if (operation.kind == OperationKind::kVariableWrite) ++version;
  step.number("variable", variable).text("name", operation.name).number("version", version);
  writer_.step(step.line(operation.site));
}

}  // namespace belfry::detail
