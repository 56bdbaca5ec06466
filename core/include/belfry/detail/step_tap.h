// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/function_ref.h"
#include "belfry/detail/strategy/options.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/detail/variable_state.h"
#include "belfry/nest.h"
#include "belfry/strategy_hooks.h"

#include <span>
#include <vector>

namespace belfry::detail {

/// The tag of a merge, as the first participating replica names the merge: valid until the hook
/// returns. Null for a run, and for a merge without a tag.
const MergeTag* tag_of(const StrategyStep& step);

/// Stands around the hooks of strategies on a thread: belfry::testing reads the values of a
/// reduction before and after the hook, and the new value of a variable. A function with a hook
/// calls `hook` once, and throws the exceptions of `hook`. A hook that starts its own verb again
/// has calls within one another.
class StepTap {
 public:
  virtual ~StepTap() = default;
  /// `hook` calls do_merge of the strategy of `core`.
  virtual void around_merge(StrategyCore& core, const StrategyStep& merge,
                            FunctionRef<void()> hook) = 0;
  /// `hook` calls do_reduce of the strategy of `core`.
  virtual void around_reduce(StrategyCore& core, const ReduceCall& call,
                             FunctionRef<void()> hook) = 0;
  /// The leaves of the new components of a mirrored variable, before the components are in place.
  /// The tap may give them other values, equal in all components.
  virtual void before_change(StrategyCore& core, const VariableInfo& info,
                             std::span<const std::vector<LeafRef>> components, CallSite site) = 0;
};

/// The tap of the runs and the reductions that the calling thread begins; usually null.
extern constinit thread_local StepTap* step_tap;

/// StrategyCore::reduce, within the tap.
void reduce_in_tap(StrategyCore& core, const ReduceCall& call);

/// Shows the tap the new components of a variable that consists of leaves: `at(i)` for each i below
/// `count`.
template <class At>
void show_change(StrategyCore& core, const VariableInfo& info, int count, const At& at,
                 CallSite site) {
  if (step_tap == nullptr) [[likely]]
    return;
  std::vector<std::vector<LeafRef>> leaves;
  for (int i = 0; i < count; ++i) leaves.push_back(leaves_of(at(i)));
  step_tap->before_change(core, info, leaves, site);
}

}  // namespace belfry::detail
