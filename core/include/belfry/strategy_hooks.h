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
class ReplicaRunner;
class StrategyCore;
}  // namespace detail

/// The decisions of a strategy. `Strategy` implements each hook; a child overrides some hooks, and
/// may call the base implementation inside its own. docs/strategies.md lists the rules of each
/// hook.
/// Context: cross-replica context, on the thread that called `run`. Exception: for a variable made
/// by replicas, each replica calls `do_place`, and the first calls `do_initialise` and
/// `do_broadcast`.
/// Throws: an exception of a hook leaves the call that used the hook, unless the run or merge
/// itself failed (SEM-117). A broken rule that is noticed is a StrategyError (kStrategyContract).
class StrategyHooks {
 public:
  StrategyHooks() = default;
  StrategyHooks(const StrategyHooks&) = delete;
  StrategyHooks& operator=(const StrategyHooks&) = delete;

 protected:
  ~StrategyHooks() = default;

  /// The devices of a new variable's components: kOnWrite for mirrored variables, kOnRead for
  /// replica-local variables, of which each replica sees its own component (SEM-110). The answer is
  /// the same for every call.
  virtual VariablePlaces do_place(Synchronization kind) const = 0;
  /// Gives all components of a new variable equal first values (SEM-112).
  virtual void do_initialise(ComponentWork& variable) = 0;
  /// Gives all components of a variable the values of an update (SEM-113).
  virtual void do_update(ComponentWork& update) = 0;
  /// Replaces the leaves of every part of the call by the reduction over all parts (SEM-30 to
  /// SEM-36); tensors stay on the devices of their replicas.
  virtual void do_reduce(const ReduceCall& call) = 0;
  /// Copies of `source`, one on each of `targets`, in the same order, with the same bits (SEM-114).
  virtual std::vector<AnyTensor> do_broadcast(const AnyTensor& source,
                                              std::span<const Placement> targets) = 0;
  /// Carries out a run (SEM-115). May start further runs: any hook may call its own verb, up to a
  /// depth (SEM-145).
  virtual void do_run(StrategyStep& replicas) = 0;
  /// Carries out a merge for which all replicas have met (SEM-116).
  virtual void do_merge(StrategyStep& merge) = 0;

 private:
  friend class detail::ReplicaRunner;
  friend class detail::StrategyCore;
};

}  // namespace belfry
