// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/operation.h"
#include "belfry/detail/trace_writer.h"

#include <cstdint>
#include <map>
#include <new>
#include <vector>

namespace belfry::sim {

/// Writes the operations of the hosts of a cluster into its trace.
class HostSteps {
 public:
  explicit HostSteps(belfry::detail::TraceWriter& writer) : writer_(writer) {}

  void operation(const Operation& operation) noexcept {
    try {
      write(operation);
    } catch (const std::bad_alloc&) {  // The step is missing.
    }
  }

 private:
  void write(const Operation& operation) {
    const bool calls = operation.kind == OperationKind::kArrive;
    const bool returns = operation.kind == OperationKind::kResume && operation.subject != 0;
    const char* const kind = calls ? "call" : to_string(operation.kind);
    belfry::detail::TraceStep step(kind,
                                   writer_.agent(operation.agent.index, {AgentId::Kind::kHost, 0}));
    if (calls || returns) step.number("round", operation.subject);
    if (!operation.name.empty()) step.text("name", operation.name);
    if (returns) step.after(calls_[operation.subject]);
    const auto number = writer_.step(step);
    if (calls && number) calls_[operation.subject].push_back(*number);
  }

  belfry::detail::TraceWriter& writer_;
  std::map<std::uint64_t, std::vector<std::uint64_t>> calls_;  // The steps of each call.
};

}  // namespace belfry::sim
