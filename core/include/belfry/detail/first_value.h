// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/component_values.h"
#include "belfry/detail/host_values.h"
#include "belfry/detail/initial_value.h"
#include "belfry/detail/merge_request.h"
#include "belfry/detail/process_values.h"
#include "belfry/detail/replica_variables.h"
#include "belfry/nest.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <vector>

/// The first value of a variable: the description before the initialiser is called, and the value
/// of several processes.
namespace belfry::detail {

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
/// (kVariableMismatch) if processes ask for different variables; as ProcessExchange::values.
Bytes agree_on_variable(StrategyCore& core, const VariableRequest& request, std::string_view type,
                        const Bytes& value);
/// Whether the messages of that exchange describe one variable. `usual` is the process of replica
/// 0. Messages of listening processes are empty.
bool describe_one_variable(const std::vector<Bytes>& messages, std::size_t usual);

/// The initial value in the process that makes it, and its message. Throws: exceptions of `init`,
/// and then PeerFailedError in the other processes.
template <class T>
Bytes make_first_value(StrategyCore& core, CurrentContext context, FunctionRef<T()> init, T& first,
                       CallSite site) {
  ByteWriter out;
  try {
    const CurrentScope scope(context);
    first = init();
    send_value(out, first);
  } catch (...) {
    tell_failed_work(core, site);
    throw;
  }
  return out.bytes();
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
    ProcessExchange& processes = *core.processes();
    const int usual = processes.process_of(0);
    T first{};
    Bytes made;
    if (processes.rank() == usual) made = make_first_value(core, here, init, first, site);
    const VariableRequest request{
        info.name,   info.synchronization, info.aggregation, info.trainable,
        &typeid(T),  initial.structure(),  initial.digest(), site,
        std::nullopt};
    Bytes value = agree_on_variable(core, request, spelling<T>(), made);
    // The processes know now who listens.
    const bool listens = processes.is_listener(usual);
    const int maker = listens ? processes.first_speaker() : usual;
    if (listens) {
      if (processes.rank() == maker) made = make_first_value(core, here, init, first, site);
      value =
          processes.values_of_speakers(kFirstValue, site, made)[static_cast<std::size_t>(maker)];
    }
    if (processes.rank() != maker) {
      ByteReader in(value);
      receive_value(in, first, core.placement(core.first_replica()));
    }
    return first;
  }
}

}  // namespace belfry::detail
