// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "belfry/aggregation.h"
#include "belfry/call_site.h"
#include "belfry/detail/replica_array.h"
#include "belfry/error.h"
#include "belfry/reduce_op.h"

namespace belfry {

class ReplicaContext;

namespace detail {

class StrategyCore;

/// What a variable is, apart from its values.
struct VariableInfo {
  const StrategyCore* owner = nullptr;
  std::uint64_t number = 0;
  std::string name;
  Aggregation aggregation = Aggregation::kNone;
  bool trainable = true;
  CallSite created{};
};

/// Components of one variable, each on a cache line of its own: replicas write side by side.
template <class T>
struct VariableState {
  struct alignas(64) Padded {
    T value;
  };

  VariableInfo info;
  ReplicaArray<Padded> components;
};

[[noreturn]] void throw_empty_variable(CallSite site);

/// Checks that `replica` may touch the variable and tells the scheduler.
/// Throws: ContextError (kOtherStrategy, kWrongContext), ReplicaCancelled.
void touch_variable(const ReplicaContext& replica, const VariableInfo& info, bool write,
                    CallSite site);
int component_of(const ReplicaContext& replica);

}  // namespace detail
}  // namespace belfry
