// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/log.h"

#include <cstddef>
#include <cstdint>
#include <vector>

/// Logs written by hand.
namespace belfry::sim::testing {

inline Operation operation(AgentId::Kind agent, int index, OperationKind kind,
                           std::uint64_t subject = 0, std::uint64_t value = 0) {
  Operation result;
  result.agent = {agent, index};
  result.kind = kind;
  result.subject = subject;
  result.value = value;
  return result;
}

inline Operation replica(int index, OperationKind kind, std::uint64_t subject = 0) {
  return operation(AgentId::Kind::kReplica, index, kind, subject);
}

/// The begin or the end of a run: number `ordinal` of its strategy, begun on a line of train.cpp.
inline Operation of_run(OperationKind kind, std::uint64_t ordinal, int line) {
  Operation result{.kind = kind};
  result.value = ordinal;
  result.site = {"train.cpp", line};
  return result;
}

inline Log log_of(const std::vector<Operation>& operations, std::size_t limit = 1000) {
  Log log(limit);
  for (const Operation& each : operations) log.append(each);
  return log;
}

}  // namespace belfry::sim::testing
