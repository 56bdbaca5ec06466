// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cross_replica_context.h"
#include "belfry/detail/changed_components.h"
#include "belfry/detail/function_call.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/host_values.h"
#include "belfry/detail/initial_value.h"
#include "belfry/detail/merge_request.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/mirrored_check.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/detail/refused.h"
#include "belfry/detail/transaction.h"
#include "belfry/detail/update_components.h"
#include "belfry/variable.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace belfry::detail {

/// The properties of a variable with these options under the scopes in force, still without a
/// number.
/// Throws: InvalidArgumentError (kNoAggregation) for a replica-local variable without a way to be
/// read, (kInvalidArgument) for Synchronization::kNone, for numbers without an enumerator and for a
/// mirrored variable with Aggregation::kOther; VariableMismatchError (kVariableMismatch) if a
/// creator changed the requested kind; exceptions of creators.
VariableInfo describe_variable(StrategyCore& core, VariableOptions options, CallSite site);
/// Throws: InvalidArgumentError (kIntegerMean) for integer leaves of a variable with a MEAN.
/// `describe` gives the leaves in words.
void require_mean(const VariableInfo& info, const std::vector<LeafRef>& leaves, LeafWords describe);
/// Gives the variable its number, and a name if the variable has none.
void number_variable(StrategyCore& core, VariableInfo& info);
/// The current replica of `core`, if any. Throws: ContextError (kOtherStrategy).
ReplicaContext* replica_making(StrategyCore& core, CallSite site);

/// A copy of a tag's name, as requests outlive tags; nothing without a tag.
std::optional<std::string> name_of_tag(const MergeTag* tag);

/// Makes the reader of a variable, or null.
template <class T>
using MakeReader = FunctionRef<std::shared_ptr<const VariableReader<T>>()>;

/// Gives the components their first values, on the strategy's request.
template <class T>
std::shared_ptr<VariableState<T>> initialise(StrategyCore& core, CrossReplicaContext& cross,
                                             FunctionRef<T()> init, VariableInfo info,
                                             MakeReader<T> make_reader) {
  auto state = std::make_shared<VariableState<T>>();
  state->reader = make_reader();
  state->sent = sent_components<T>();
  state->info = std::move(info);
  number_variable(core, state->info);
  if (core.members().has_listeners()) {
    state->info.homes = std::make_shared<const Participants>(core.members().replicas_of_speakers());
  }
  InitialWork<T> work(core, cross, state->info, init, state->info.created);
  core.initialise(work, state->info.created);
  work.require_all();
  ReplicaArray<T> values = work.take();
  if constexpr (Nest<T>) {
    auto describe = [&values] { return describe_leaves(values[0]); };
    require_mean(state->info, leaves_of(values[0]), describe);
  }
  state->views = views_of(core, state->info.places, values);
  state->components = ReplicaArray<typename VariableState<T>::Padded>(values.size());
  for (T& value : values) state->components.emplace_back(std::move(value));
  core.track(state);
  return state;
}

/// Throws: InvalidArgumentError (kNoAggregation) if the variable needs a reduction of the user's.
void require_readable(const VariableInfo& info);

/// The reader of a variable that its aggregation reads: none.
struct NoReader {
  template <class T>
  std::shared_ptr<const VariableReader<T>> operator()(std::type_identity<T>) const {
    return nullptr;
  }
};

/// Makes a variable: in cross-replica context at once, in a replica together with the other
/// replicas. Order: in a replica the host waits until the first replica has made the variable
/// (SEM-48); copies of tensors are enqueued. Throws: exceptions of `init`; as describe_variable;
/// InvalidArgumentError (kNoAggregation) for kOther without a reduction, (kIntegerMean) for kMean
/// of integers (SEM-58); ContextError (kOtherStrategy); VariableMismatchError (kVariableMismatch)
/// if replicas ask for different variables; MergeMismatchError (kMergeUnnamed) in a replica that
/// asks again at a place without a name; DeviceError (kOutOfMemory); StrategyError.
template <class T>
std::shared_ptr<VariableState<T>> make_described_variable(
    StrategyCore& core, CrossReplicaContext& cross, const InitialValue<T>& initial,
    const VariableInfo& info, MergePlace place, MakeReader<T> make_reader) {
  const CallSite site = place.site;
  ReplicaContext* replica = replica_making(core, site);
  const auto make_now = [&] {
    if (core.members().is_alone()) [[likely]] {
      return initialise<T>(core, cross, initial.make, info, make_reader);
    }
    const T first = first_value_of_processes<T>(core, cross, initial, info, site);
    const auto copy = [&first] { return first; };
    return initialise<T>(core, cross, FunctionRef<T()>(copy), info, make_reader);
  };
  if (replica == nullptr) return make_now();
  const VariableRequest request{info.name,
                                info.synchronization,
                                info.aggregation,
                                info.trainable,
                                &typeid(T),
                                initial.structure(),
                                initial.digest(),
                                site,
                                name_of_tag(place.tag)};
  const auto make = [&]() -> std::shared_ptr<void> { return make_now(); };
  return std::static_pointer_cast<VariableState<T>>(replica->merges().make_variable(
      replica->replica_id(), request, FunctionRef<std::shared_ptr<void>()>(make)));
}

/// The same for an initial value of any type that gives a T, with one instantiation behind.
template <class T, class Init, class ReaderOf>
std::shared_ptr<VariableState<T>> make_variable_of(StrategyCore& core, CrossReplicaContext& cross,
                                                   const Init& init, VariableOptions options,
                                                   MergePlace place, const ReaderOf& reader_of) {
  const VariableInfo info = describe_variable(core, std::move(options), place.site);
  if constexpr (std::is_same_v<ReaderOf, NoReader>) require_readable(info);
  const auto make = [&init]() -> T { return initial_value(init); };
  const auto structure = [&init] { return structure_of(init); };
  const auto digest = [&init] { return host_digest_of(init); };
  const auto make_reader = [&reader_of]() -> std::shared_ptr<const VariableReader<T>> {
    return reader_of(std::type_identity<T>());
  };
  return make_described_variable<T>(core, cross, {make, structure, digest}, info, place,
                                    MakeReader<T>(make_reader));
}

/// The same for the type of the initial value. An initial value without a type of a variable is
/// refused.
template <class Init, class ReaderOf = NoReader>
auto make_variable(StrategyCore& core, CrossReplicaContext& cross, const Init& init,
                   VariableOptions options, MergePlace place, const ReaderOf& reader_of = {}) {
  using T = typename InitialType<Init>::type;
  using InitCall = FunctionCall<const Init>;
  constexpr bool kReturns = !InitCall::fits() || gives_value<InitCall>();
  static_assert(kReturns,
                "a variable starts with a value, or with the result of a function, which returns "
                "nothing here: write [&] { return value; }");
  static_assert(!kReturns || is_copied<T>(),
                "components are copies of the initial value, which cannot be copied: write, for "
                "example, a std::shared_ptr in place of a std::unique_ptr");
  if constexpr (InitCall::is_broken()) {
    return InitCall::unmade();
  } else if constexpr (kReturns && is_copied<T>()) {
    return make_variable_of<T>(core, cross, init, std::move(options), place, reader_of);
  } else {
    return std::shared_ptr<VariableState<int>>();
  }
}

/// A replica-local variable for reads by a user's reduction.
template <class R, class Init>
auto make_reduced_variable(StrategyCore& core, CrossReplicaContext& cross, const R& reduction,
                           const Init& init, VariableOptions options, MergePlace place) {
  using T = typename InitialType<Init>::type;
  constexpr bool kIsBroken = FunctionCall<const Init>::is_broken();
  // Of a concept, compilers print each condition.
  constexpr bool kReads = kIsBroken || VariableReduction<R, T>;
  static_assert(
      kReads,
      "a variable is read by a ReduceOp, an Aggregation or a reduction: write a class with "
      "T combine(T folded, const T& next) const and T finalize(T folded, int) const");
  if constexpr (kIsBroken) {
    return FunctionCall<const Init>::unmade();
  } else if constexpr (kReads) {
    options.synchronization = Synchronization::kOnRead;
    options.aggregation = Aggregation::kOther;
    const auto reader_of = [&reduction](std::type_identity<T>) {
      return std::make_shared<const ReductionReader<R, T>>(reduction);
    };
    return make_variable(core, cross, init, std::move(options), place, reader_of);
  } else {
    return std::shared_ptr<VariableState<T>>();
  }
}

/// Throws: UnsupportedError (kUnsupported): components of a type that is no nest cannot be reduced.
[[noreturn]] void throw_not_reducible(const VariableInfo& info, CallSite site);

/// Copies of all components. Throws: ContextError, InvalidArgumentError (kVariableEmpty).
template <class V>
auto components_of(StrategyCore& core, const V& variable, CallSite site) {
  using T = typename V::value_type;
  const VariableState<T>& state = variable.state(site);
  require_own_value(core, state.info, site);
  return components_here(core, state);
}

template <class V>
auto value_of_variable(StrategyCore& core, const V& variable, CallSite site) {
  using T = typename V::value_type;
  VariableState<T>& state = variable.state(site);
  require_own_value(core, state.info, site);
  if (state.info.synchronization == Synchronization::kOnWrite) {
    require_mirrored(core, state, site);
    return state.components[0].value;
  }
  if (state.reader) {
    return of_all_components(core, "read", state, site, [&](const PerReplica<T>& all) {
      return state.reader->read(core, all, site);
    });
  }
  if (state.info.aggregation == Aggregation::kOnlyFirst) {
    return value_of_first(core, "read", state, site);
  }
  if constexpr (Nest<T>) {
    const ReduceOp op = reduce_op_of(state.info.aggregation);
    return of_all_components(core, "read", state, site, [&](const PerReplica<T>& all) {
      return T(reduce_value(core, op, all, site).value());
    });
  } else {
    throw_not_reducible(state.info, site);
    return state.components[0].value;
  }
}

/// The value of a variable in cross-replica context.
/// Throws: ContextError (kOtherStrategy); VariableMismatchError (kMirroredDiverged);
/// UnsupportedError (kUnsupported) if a reduction needs components of a nest, or a tensor of every
/// replica; exceptions of the reduction.
template <class V>
auto read_variable(StrategyCore& core, const V& variable, CallSite site) {
  auto value = value_of_variable(core, variable, site);
  if (core.notes_host_values()) note_host_values(core, {}, value);
  return value;
}

StrategyStatistics statistics_of(StrategyCore& core);

}  // namespace belfry::detail
