// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/aggregation.h"
#include "belfry/any_tensor.h"
#include "belfry/component_work.h"
#include "belfry/placement.h"
#include "belfry/reduce_call.h"
#include "belfry/strategy_step.h"
#include "belfry/variable_places.h"

#include <span>
#include <vector>

namespace belfry {

namespace detail {
class StrategyCore;
}  // namespace detail

/// What a strategy decides. `Strategy` has an answer to each; a child replaces those in which it
/// differs, and may call the answer of `Strategy` inside its own. All are called in cross-replica
/// context, on the thread that called `run`, but for variables that replicas make: `do_place` by
/// each, `do_initialise` and `do_broadcast` by the first. docs/strategies.md lists the rules that
/// each must keep. What a hook throws comes out of the call that asked it, unless the run or merge
/// failed by itself (SEM-117); a broken rule that is seen is a StrategyError (kStrategyContract).
class StrategyHooks {
 public:
  StrategyHooks() = default;
  StrategyHooks(const StrategyHooks&) = delete;
  StrategyHooks& operator=(const StrategyHooks&) = delete;

 protected:
  ~StrategyHooks() = default;

  /// Where the components of a new variable live: kOnWrite for mirrored, kOnRead for replica-local
  /// ones, of which every replica sees its own (SEM-110). The same for every call.
  virtual VariablePlaces do_place(Synchronization kind) const = 0;
  /// Gives all components of a new variable equal first values (SEM-112).
  virtual void do_initialise(ComponentWork& variable) = 0;
  /// Gives all components of a variable the values of an update (SEM-113).
  virtual void do_update(ComponentWork& update) = 0;
  /// Replaces the leaves of every part of the call by their reduction over all parts, by the rules
  /// of SEM-30 to SEM-36; tensors stay on their replicas' devices.
  virtual void do_reduce(const ReduceCall& call) = 0;
  /// Copies of `source`, one on each of `targets`, in their order, with the same bits (SEM-114).
  virtual std::vector<AnyTensor> do_broadcast(const AnyTensor& source,
                                              std::span<const Placement> targets) = 0;
  /// Lets the replicas run (SEM-115). May run again, as any hook may start its verb again, up to a
  /// depth (SEM-145).
  virtual void do_run(StrategyStep& replicas) = 0;
  /// Lets a merge happen for which all replicas have met (SEM-116).
  virtual void do_merge(StrategyStep& merge) = 0;

 private:
  friend class detail::StrategyCore;
};

}  // namespace belfry
