// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/function_ref.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/strategy_hooks.h"

namespace belfry::detail {

/// Stands around the hooks of strategies on a thread: belfry::testing reads the values of a
/// reduction before and after the hook. Each function calls `hook` once, and throws the exceptions
/// of `hook`. A hook that starts its own verb again has calls within one another.
class StepTap {
 public:
  virtual ~StepTap() = default;
  /// `hook` calls do_merge of the strategy of `core`.
  virtual void around_merge(StrategyCore& core, const StrategyStep& merge,
                            FunctionRef<void()> hook) = 0;
  /// `hook` calls do_reduce of the strategy of `core`.
  virtual void around_reduce(StrategyCore& core, const ReduceCall& call,
                             FunctionRef<void()> hook) = 0;
};

/// The tap of the runs and the reductions that the calling thread begins; usually null.
extern constinit thread_local StepTap* step_tap;

/// StrategyCore::reduce, within the tap.
inline void reduce_in_tap(StrategyCore& core, const ReduceCall& call) {
  const auto hook = [&] { core.reduce(call); };
  if (step_tap != nullptr) [[unlikely]]
    return step_tap->around_reduce(core, call, hook);
  hook();
}

}  // namespace belfry::detail
