// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cross_replica_context.h"
#include "belfry/detail/component_values.h"
#include "belfry/detail/function_call.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/host_values.h"
#include "belfry/detail/merge_point.h"
#include "belfry/detail/merge_request.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/process_values.h"
#include "belfry/detail/refused.h"
#include "belfry/detail/update_components.h"
#include "belfry/nest.h"
#include "belfry/variable.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace belfry::detail {

/// The type of a variable with this initial value, or with the result of this function.
template <class Init>
struct InitialType : std::type_identity<std::decay_t<Init>> {};
template <class Init>
  requires(gives_value<FunctionCall<const Init>>())
struct InitialType<Init>
    : std::type_identity<std::remove_cvref_t<std::invoke_result_t<const Init&>>> {};

template <class Init>
auto initial_value(const Init& init) {
  if constexpr (std::is_invocable_v<const Init&>) {
    return init();
  } else {
    return init;
  }
}

/// An initial value of any type for a variable of type T. Valid as long as the objects behind the
/// functions.
template <class T>
struct InitialValue {
  FunctionRef<T()> make;
  FunctionRef<std::optional<std::string>()> structure;  ///< As structure_of.
  FunctionRef<std::uint64_t()> digest;                  ///< As host_digest_of.
};

/// Calls `fn(replica_id)` for each replica, with the device of the replica current.
template <class T>
PerReplica<T> values_of_replicas(StrategyCore& core, CrossReplicaContext& cross,
                                 FunctionRef<T(int)> fn, CallSite site) {
  core.require_cross("distribute_values", site);
  const Participants& own = core.own();
  ReplicaArray<T> values(own.count());
  for (int i = 0; i < own.count(); ++i) {
    CurrentContext here = update_context(core, cross, own.id(i));
    const CurrentScope scope(here);
    values.emplace_back(fn(own.id(i)));
  }
  return PerReplica<T>(std::move(values), own);
}
/// The same for a function of any type.
template <class F>
auto values_for_replicas(StrategyCore& core, CrossReplicaContext& cross, const F& fn,
                         CallSite site) {
  using Call = FunctionCall<const F, int>;
  constexpr bool kGivesValue = gives_value<Call>();
  static_assert(kGivesValue || Call::is_broken(),
                "distribute_values calls fn(id): write [&](int replica_id) { return ...; }");
  if constexpr (!kGivesValue) {
    return Call::no_result();
  } else {
    using T = std::remove_cvref_t<ResultOf<Call>>;
    const auto call = [&fn](int id) -> T { return fn(id); };
    return values_of_replicas<T>(core, cross, FunctionRef<T(int)>(call), site);
  }
}

/// The first values of a variable.
template <class T>
class InitialWork final : public ComponentValues {
 public:
  InitialWork(StrategyCore& core, CrossReplicaContext& cross, const VariableInfo& info,
              FunctionRef<T()> init, CallSite site)
      : ComponentValues(core, cross, info, true, site), init_(init), values_(info.places.size()) {
    for (int i = 0; i < info.places.size(); ++i) values_.emplace_back();
  }

  ReplicaArray<T> take() {
    ReplicaArray<T> taken(values_.size());
    for (std::optional<T>& value : values_) taken.emplace_back(std::move(*value));
    return taken;
  }

 private:
  void compute_value(int component) override {
    values_[component].emplace(placed_on(init_(), place_of(component)));
  }
  void copy_values(int from, const std::vector<int>& to) override {
    ReplicaArray<T> copies = copies_on(core(), *values_[from], places_of(to));
    for (std::size_t i = 0; i < to.size(); ++i) {
      values_[to[i]].emplace(std::move(copies[static_cast<int>(i)]));
    }
  }

  FunctionRef<T()> init_;
  ReplicaArray<std::optional<T>> values_;
};

/// The structure of an initial value, if known without a call of the initialiser.
template <class Init>
std::optional<std::string> structure_of(const Init& init) {
  if constexpr (!std::is_invocable_v<const Init&> && Nest<Init>) {
    std::string text;
    for (const LeafDescription& leaf : describe_leaves(init)) text += " " + leaf.path + leaf.type;
    return text;
  } else {
    return std::nullopt;
  }
}

/// The digest of the host leaves of an initial value; 0 for a function and for a type that is no
/// nest.
template <class Init>
std::uint64_t host_digest_of(const Init& init) {
  HostDigest digest;
  if constexpr (!std::is_invocable_v<const Init&>) digest.add(init);
  return digest.value();
}

// The exchanges about a variable, which a listening process understands. The second follows if the
// process of replica 0 listens (SEM-237).
inline constexpr const char* kVariable = "a variable";
inline constexpr const char* kFirstValue = "a variable: the first value";

/// Compares the descriptions of a variable that all processes make, and sends the first value of
/// the process of replica 0; `value` is empty elsewhere. Throws: VariableMismatchError
/// (kVariableMismatch) if processes ask for different variables; as RoundMembers::exchange.
Bytes agree_on_variable(StrategyCore& core, const VariableRequest& request, std::string_view type,
                        const Bytes& value);
/// Whether the messages of that exchange describe one variable. `usual` is the process of replica
/// 0. Messages of listening processes are empty.
bool describe_one_variable(const std::vector<Bytes>& messages, std::size_t usual);

/// The initial value in the process that makes it, and its message. Throws: exceptions of `init`,
/// and then PeerFailedError in the other members.
template <class T>
Bytes make_first_value(StrategyCore& core, CurrentContext context, FunctionRef<T()> init, T& first,
                       CallSite site) {
  return core.telling_failure(site, [&] {
    ByteWriter out;
    const CurrentScope scope(context);
    first = init();
    send_value(out, first);
    return out.bytes();
  });
}

/// The first value of a variable of several processes: `init` is called in the process of replica 0
/// alone (SEM-159); if this process listens, in the lowest process that takes part (SEM-237).
/// Order: blocks the host until all processes make the variable. Throws: as agree_on_variable;
/// exceptions of `init` in its process, and PeerFailedError in all others; UnsupportedError for a
/// type that cannot be sent.
template <class T>
T first_value_of_processes(StrategyCore& core, CrossReplicaContext& cross,
                           const InitialValue<T>& initial, const VariableInfo& info,
                           CallSite site) {
  const FunctionRef<T()> init = initial.make;
  if constexpr (!is_sent<T>() || !std::is_default_constructible_v<T>) {
    throw_not_sent("a variable", site);
    return init();
  } else {
    const CurrentContext here = device_context(core, cross, core.devices().front());
    RoundMembers& members = core.members();
    const int usual = members.process_of(0);
    T first{};
    Bytes made;
    if (members.rank() == usual) made = make_first_value(core, here, init, first, site);
    const VariableRequest request{
        info.name,   info.synchronization, info.aggregation, info.trainable,
        &typeid(T),  initial.structure(),  initial.digest(), site,
        std::nullopt};
    Bytes value = agree_on_variable(core, request, spelling<T>(), made);
    // The processes know now who listens.
    const bool listens = members.is_listener(usual);
    const int maker = listens ? members.first_speaker() : usual;
    if (listens) {
      if (members.rank() == maker) made = make_first_value(core, here, init, first, site);
      value = members.exchange(kFirstValue, site, made)[static_cast<std::size_t>(maker)];
    }
    if (members.rank() != maker) {
      ByteReader in(value);
      receive_value(in, first, core.placement(core.first_replica()));
    }
    return first;
  }
}

}  // namespace belfry::detail
