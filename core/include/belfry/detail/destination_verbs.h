// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/destination.h"
#include "belfry/detail/component.h"
#include "belfry/detail/components_in.h"
#include "belfry/detail/fetch_value.h"
#include "belfry/detail/function_call.h"
#include "belfry/detail/process_values.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/detail/refused.h"
#include "belfry/detail/strategy/completion.h"
#include "belfry/detail/verb.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"
#include "belfry/reduction.h"
#include "belfry/shape.h"

#include <cstdint>
#include <functional>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

/// Tests of the arguments of `CrossReplicaContext::reduce`. A call that fits no overload is refused
/// with one message, in place of the compiler's list of all overloads.
namespace belfry::detail {

/// A mistake in the arguments of a reduction.
enum class ReduceMistake : std::uint8_t {
  kNone,
  kNoOperator,   ///< The values come first.
  kVariable,     ///< A variable in place of values.
  kPlain,        ///< A value that is not distributed.
  kMirrored,     ///< A Mirrored with a reduction of the user's.
  kDestination,  ///< Neither destination nor axis.
};

/// As kIsNot of belfry/detail/device_function.h.
template <ReduceMistake found, ReduceMistake tested>
inline constexpr bool kIsNotReduce = found != tested;

/// Whether V is a PerReplica or a Mirrored, or a class derived from one of the two.
template <class V>
concept ReducedValues = requires(const V& value) { []<class T>(const PerReplica<T>&) {}(value); } ||
                        requires(const V& value) { []<class T>(const Mirrored<T>&) {}(value); };

/// Whether an argument may follow the values of a reduction.
template <class A>
constexpr bool follows_values() {
  return std::is_convertible_v<const A&, CallSite> || std::is_same_v<A, Axis> ||
         is_destination<A>();
}

/// The mistake in `reduce(op, values, after...)`, with the types of the arguments.
template <class Op, class V = void, class... After>
constexpr ReduceMistake mistake_in_reduce() {
  if constexpr (ReducedValues<Op> || IsVariable<Op>::value) {
    return ReduceMistake::kNoOperator;
  } else if constexpr (std::is_void_v<V>) {
    return ReduceMistake::kNone;
  } else if constexpr (IsVariable<V>::value) {
    return ReduceMistake::kVariable;
  } else if constexpr (!ReducedValues<V>) {
    return ReduceMistake::kPlain;
  } else if constexpr (IsDistributed<V>::value && !IsPerReplica<V>::value &&
                       !std::is_convertible_v<Op, ReduceOp>) {
    return ReduceMistake::kMirrored;
  } else {
    return (follows_values<After>() && ...) ? ReduceMistake::kNone : ReduceMistake::kDestination;
  }
}

/// Verbs of the cross-replica context with a destination, or about the devices of values.
template <class Self>
class DestinationVerbs {
 public:
  /// Reduces the components of a PerReplica, and brings the result to the devices of `destination`,
  /// in the order of the destination (SEM-122).
  /// Order: as CrossReplicaContext::reduce, then as broadcast.
  /// Throws, beside the errors of reduce, before anything is reduced:
  /// - InvalidArgumentError (kDestination): no device, or an unknown device;
  /// - InvalidArgumentError (kDuplicateDevice): a device twice;
  /// - InvalidArgumentError (kDeviceString): a text that names no device;
  /// - exceptions of the user's `devices_of`.
  template <class T, Destination D>
  MirroredOn<T> reduce(ReduceOp op, const PerReplica<T>& value, const D& destination,
                       CallSite site = CallSite::here()) {
    if constexpr (require_nest<T>()) {
      core().require_cross("reduce", site);
      require_replicas(core(), value.size(), site);
      const std::vector<int> devices = destination_of(core(), destination, site);
      return place(core(), self().reduce(op, value, site), devices);
    } else {
      return Refused();
    }
  }
  template <class T, Destination D>
  MirroredOn<T> reduce(MeanOnly, const Mirrored<T>& value, const D& destination,
                       CallSite site = CallSite::here()) {
    core().require_cross("reduce", site);
    require_replicas(core(), value.size(), site);
    return place(core(), value, destination_of(core(), destination, site));
  }

  /// An object that is no reduction of T; the call does not compile.
  template <class R, class T>
    requires NoReduction<R, T>
  Refused reduce(const R&, const PerReplica<T>&, CallSite = CallSite::here()) {
    return refuse_reduction<R, T>();
  }
  /// Arguments that no reduction takes; the call does not compile.
  template <class Op, class... Args>
    requires(mistake_in_reduce<Op, Args...>() != ReduceMistake::kNone)
  Refused reduce(const Op&, const Args&...) {
    constexpr ReduceMistake kMistake = mistake_in_reduce<Op, Args...>();
    static_assert(kIsNotReduce<kMistake, ReduceMistake::kNoOperator>,
                  "reduce takes an operator first: write reduce(ReduceOp::kSum, values)");
    static_assert(kIsNotReduce<kMistake, ReduceMistake::kVariable>,
                  "reduce takes values, and no variable: write strategy.read(variable), which "
                  "reduces the components of a replica-local variable");
    static_assert(kIsNotReduce<kMistake, ReduceMistake::kPlain>,
                  "reduce takes a PerReplica, with a value of each replica: write "
                  "reduce(ReduceOp::kSum, values) for the result values of run or for an argument "
                  "of merge_call, or replica.all_reduce(ReduceOp::kSum, value) in a replica");
    static_assert(kIsNotReduce<kMistake, ReduceMistake::kMirrored>,
                  "a reduction of the user's folds a PerReplica, and a Mirrored is the same on all "
                  "replicas: write ReduceOp::kMean, or use the Mirrored as it is");
    static_assert(kIsNotReduce<kMistake, ReduceMistake::kDestination>,
                  "the argument behind the values is a destination or an axis: write, for example, "
                  "reduce(ReduceOp::kSum, values, device) or reduce(ReduceOp::kSum, values, "
                  "Axis(0))");
    return {};
  }

  /// Brings a value to the devices of `destination`.
  /// Order: copies are enqueued.
  /// Throws: for the destination as reduce, for the value as CrossReplicaContext::broadcast.
  template <class T, Destination D>
  MirroredOn<T> broadcast(const T& value, const D& destination, CallSite site = CallSite::here()) {
    core().require_cross("broadcast", site);
    const std::vector<int> devices = destination_of(core(), destination, site);
    return of_first_process(core(), "broadcast", value, site,
                            [&](const T& first) { return broadcast_to(core(), first, devices); });
  }

  /// Calls `fn(value)` on a single device, replica 0's without a destination, and returns the
  /// result. `value` is a variable, a Mirrored or a MirroredOn. fn gets the component on the
  /// device; if there is none, fn gets the first component, on the component's device, and the
  /// result of fn is copied (SEM-124). Of a replica-local variable fn gets the reduction. Without
  /// fn the value itself is the result.
  /// Order: calls fn on this thread; copies and reductions are enqueued. The host blocks only if
  /// the backend compares the components of a mirrored variable first (SEM-11).
  /// Throws:
  /// - exceptions of fn;
  /// - for the destination as reduce, and InvalidArgumentError (kDestination) for several devices;
  /// - VariableMismatchError (kMirroredDiverged): compared components differ;
  /// - UnsupportedError (kUnsupported): the components have no reduction.
  template <class V, Destination D, NotSite F>
  auto fetch(const V& value, const D& destination, const F& fn, CallSite site = CallSite::here()) {
    using Call = FetchFunctionCall<F, typename ComponentType<V>::type>;
    if constexpr (require_fetch_function<F, typename ComponentType<V>::type>()) {
      core().require_cross("fetch", site);
      const int device = only_device(destination_of(core(), destination, site), site);
      return fetch_value(core(), self(), value, device, fn, site);
    } else {
      return Call::no_result();
    }
  }
  template <class V, Destination D>
  auto fetch(const V& value, const D& destination, CallSite site = CallSite::here()) {
    return fetch(value, destination, std::identity(), site);
  }
  template <class V, NotSite F>
    requires(!Destination<F>)
  auto fetch(const V& value, const F& fn, CallSite site = CallSite::here()) {
    using Call = FetchFunctionCall<F, typename ComponentType<V>::type>;
    if constexpr (require_fetch_function<F, typename ComponentType<V>::type>()) {
      core().require_cross("fetch", site);
      return fetch_value(core(), self(), value, core().devices().front(), fn, site);
    } else {
      return Call::no_result();
    }
  }
  template <class V>
  auto fetch(const V& value, CallSite site = CallSite::here()) {
    return fetch(value, std::identity(), site);
  }

  /// Returns an object that tells whether all work on `value` is done: on every component, on every
  /// device (SEM-125). `value` is distributed, a variable, slices, a nest, or a container or
  /// aggregate of these; other types do not compile.
  /// Order: records an event on each compute stream; the host does not block.
  template <class V>
  Completion group(const V& value, CallSite site = CallSite::here()) {
    constexpr bool kGrouped = is_grouped<V>();
    static_assert(kGrouped,
                  "group looks into tensors, variables, distributed values, slices, standard "
                  "containers, and structures that list their members: write static auto "
                  "members(auto& self) { return std::tie(self.first, self.second); } in the "
                  "structure, or pass the parts of a type without members");
    DeviceWork work;
    if constexpr (kGrouped) {
      core().require_cross("group", site);
      collect_work(core(), value, site, work);
    }
    return Completion(core().backend(), std::move(work));
  }

  /// Copies the components of a distributed value or a variable, in order; of any other value, the
  /// value alone.
  /// Order: enqueues nothing; copies of tensors share storage until written.
  template <class V>
  auto local_results(const V& value, CallSite site = CallSite::here()) {
    core().require_cross("local_results", site);
    std::vector<typename ComponentType<V>::type> results;
    for_each_component(core(), value, site,
                       [&](const auto& component) { results.push_back(component); });
    return results;
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
  StrategyCore& core() { return self().core(); }
};

}  // namespace belfry::detail
