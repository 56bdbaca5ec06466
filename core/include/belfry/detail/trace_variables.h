// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/operation.h"
#include "belfry/detail/run_view.h"
#include "belfry/detail/traced_values.h"

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace belfry::detail {

/// The agent of a step, and its run, from 1; 0 outside of runs.
struct TraceActor {
  AgentId agent{};
  std::uint32_t run = 0;

  auto operator<=>(const TraceActor&) const = default;
};

/// Writes the variables of a backend into a trace: their lines and the steps that read and write
/// their components. Throws: std::bad_alloc.
class TraceVariables {
 public:
  /// `host`: of a cluster, or -1. `values`: null if no elements of tensors are known.
  TraceVariables(TraceWriter& writer, int host, DeviceValues* values)
      : writer_(writer), host_(host), values_(values) {}

  /// The first values of a variable.
  void made(const std::shared_ptr<const VariableView>& variable, const TraceActor& actor);
  /// New values of all components.
  void changed(const VariableView& variable, const TraceActor& actor);
  /// A replica reads its component, or is given the component for a change.
  void touched(const Operation& operation, const TraceActor& actor, TraceStep step);
  /// A replica goes on: the components that it was given have their new values.
  void settle(const TraceActor& actor);

 private:
  struct Variable {
    std::uint64_t number = 0;  // Of the trace: strategies count their variables from 0.
    std::weak_ptr<const VariableView> view{};  // No owner: a trace keeps no memory in use.
    std::vector<std::uint64_t> versions{};     // By component.
  };
  // A component that a replica may change until its next step.
  struct Lent {
    std::uint64_t step;
    std::weak_ptr<const VariableView> view;
    int component;
    std::vector<TracedValue> values;
  };

  void write_components(const char* kind, const Variable& own, const VariableView& view,
                        const TraceActor& actor);

  TraceWriter& writer_;
  int host_;
  DeviceValues* values_;
  std::map<std::pair<const void*, std::uint64_t>, Variable> variables_;  // Looked up, never listed.
  std::uint64_t count_ = 0;
  std::map<TraceActor, std::vector<Lent>> lent_;
};

}  // namespace belfry::detail
