// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/participants.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/detail/variable/aggregation.h"
#include "belfry/nest.h"
#include "belfry/tensor.h"

#include <exception>
#include <span>
#include <vector>

namespace belfry {

/// Gives the components of a variable their first value, or the value of an update. A strategy
/// chooses the components to compute and the components to copy:
///
///     void do_update(ComponentWork& update) override {    // Computes once, and copies.
///       update.compute(0);
///       if (update.ends_equal()) return update.copy_from(0);
///       for (int i = 1; i < update.size(); ++i) update.compute(i);
///     }
class ComponentWork {
 public:
  ComponentWork() = default;
  ComponentWork(const ComponentWork&) = delete;
  ComponentWork& operator=(const ComponentWork&) = delete;

  /// The devices of the components.
  virtual const VariablePlaces& places() const = 0;
  /// Whether all components end with the same value. False for updates of replica-local variables:
  /// their components cannot be copied.
  virtual bool ends_equal() const = 0;
  /// Calls the initialiser, or the function of `update`, for `component`, on the component's
  /// device.
  /// Throws:
  /// - exceptions of the user's code;
  /// - StrategyError (kStrategyContract): no such component, or the component has its value
  ///   already.
  virtual void compute(int component) = 0;
  /// Copies the value of component `from` to every component without a value.
  /// Order: copies of tensors are enqueued.
  /// Throws:
  /// - StrategyError (kStrategyContract): component `from` has no value, or ends_equal() is false;
  /// - DeviceError (kOutOfMemory).
  virtual void copy_from(int from) = 0;

  int size() const { return places().size(); }  ///< The number of components.

 protected:
  ~ComponentWork() = default;
};

/// The arguments of a strategy's reduction.
struct ReduceCall {
  ReduceOp op = ReduceOp::kSum;  ///< The operator.
  /// The leaves of each participating replica, by replica id. All structures are equal.
  std::span<const std::vector<LeafRef>> parts{};
  /// False: the results of host leaves go to part 0 alone.
  bool everywhere = true;
  const detail::Participants& present;  ///< The replicas that take part.

  /// The replica id of part `part`.
  int replica(int part) const { return present.id(part); }
};

/// A run of all replicas, or the merge for which all replicas have met. The strategy must carry out
/// the step exactly once, before or after any other work (SEM-115, SEM-116).
class StrategyStep {
 public:
  StrategyStep(const StrategyStep&) = delete;
  StrategyStep& operator=(const StrategyStep&) = delete;

  /// A literal: `run`, `merge_call`, `all_reduce`, `all_gather`, `assign` or `scatter`.
  const char* what() const { return what_; }
  /// The call in the user's program.
  CallSite site() const { return site_; }
  /// Whether the step belongs to a run started by code of the same strategy's run.
  bool nested() const { return nested_; }

  /// Carries out the step.
  /// Order: a run blocks until all replicas have ended.
  /// Throws:
  /// - the failure of the run or merge; `run` throws the failure even if the strategy catches it
  ///   (SEM-117);
  /// - StrategyError (kStrategyContract): at the second call.
  void carry_out() {
    if (carried_out_) refuse("twice");
    carried_out_ = true;
    try {
      work();
    } catch (...) {
      failure_ = std::current_exception();
      throw;
    }
  }

 protected:
  /// `what` is a literal.
  StrategyStep(const char* what, CallSite site, bool nested)
      : what_(what), site_(site), nested_(nested) {}
  ~StrategyStep() = default;

  /// Throws the failure, if the step failed.
  void rethrow_failure() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }
  /// Throws the failure, if the step failed, and StrategyError (kStrategyContract) if the strategy
  /// has not carried out the step.
  void finish() const {
    rethrow_failure();
    if (!carried_out_) refuse("not at all");
  }

 private:
  virtual void work() = 0;
  [[noreturn]] void refuse(const char* what) const;

  const char* what_;
  CallSite site_;
  bool nested_;
  bool carried_out_ = false;
  std::exception_ptr failure_{};
};

namespace detail {
class ReplicaRunner;
class StrategyCore;
}  // namespace detail

/// The decisions of a strategy, for strategies of users. `Strategy` implements each hook; a derived
/// class overrides some, and may call the base implementation inside its own (docs/strategies.md).
///
///     class OnOneDevice final : public Strategy {
///       VariablePlaces do_place(Synchronization) const override {...}
///     };
///
/// Hooks are called in cross-replica context, on the thread that called `run`. Exception: for a
/// variable made by replicas, each replica calls `do_place`, and the first calls `do_initialise`
/// and `do_broadcast`.
/// An exception of a hook leaves the call that used the hook, unless the run or merge itself failed
/// (SEM-117). A broken rule that is noticed is a StrategyError (kStrategyContract).
class StrategyHooks {
 public:
  StrategyHooks() = default;
  StrategyHooks(const StrategyHooks&) = delete;
  StrategyHooks& operator=(const StrategyHooks&) = delete;

 protected:
  ~StrategyHooks() = default;

  /// Returns the devices of a new variable's components: kOnWrite for mirrored variables, kOnRead
  /// for replica-local variables, with a component for each replica (SEM-110). The answer is the
  /// same for every call.
  virtual VariablePlaces do_place(Synchronization kind) const = 0;
  /// Gives all components of a new variable equal first values (SEM-112).
  virtual void do_initialise(ComponentWork& variable) = 0;
  /// Gives all components of a variable the values of an update (SEM-113).
  virtual void do_update(ComponentWork& update) = 0;
  /// Replaces the leaves of every part by the reduction over all parts (SEM-30 to SEM-36). Tensors
  /// stay on the devices of their replicas.
  virtual void do_reduce(const ReduceCall& call) = 0;
  /// Returns copies of `source` with the same bits, one on each of `targets`, in the same order
  /// (SEM-114).
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
