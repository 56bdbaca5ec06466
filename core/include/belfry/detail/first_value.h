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

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>

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

/// Compares the descriptions of a variable that all processes make, and sends the first value of
/// the process of replica 0; `value` is empty elsewhere. Throws: VariableMismatchError
/// (kVariableMismatch) if processes ask for different variables; as ProcessExchange::values.
Bytes agree_on_variable(StrategyCore& core, const VariableRequest& request, std::string_view type,
                        const Bytes& value);

/// The first value of a variable of several processes: `init` is called in the process of replica 0
/// alone (SEM-159). Order: blocks the host until all processes make the variable. Throws: as
/// agree_on_variable; exceptions of `init` in process 0, and PeerFailedError in all others;
/// UnsupportedError for a type that cannot be sent.
template <class T, class Init>
T first_value_of_processes(StrategyCore& core, CrossReplicaContext& cross, const Init& init,
                           const VariableInfo& info, CallSite site) {
  if constexpr (!is_sent<T>() || !std::is_default_constructible_v<T>) {
    throw_not_sent("a variable", site);
    return initial_value(init);
  } else {
    const CurrentContext here = device_context(core, cross, core.devices().front());
    const bool is_maker = core.processes()->process_of(0) == core.processes()->rank();
    T first{};
    ByteWriter out;
    if (is_maker) {
      try {
        CurrentContext context = here;
        const CurrentScope scope(context);
        first = T(initial_value(init));
        send_value(out, first);
      } catch (...) {
        tell_failed_work(core, site);
        throw;
      }
    }
    const VariableRequest request{
        info.name,   info.synchronization, info.aggregation,     info.trainable,
        &typeid(T),  structure_of(init),   host_digest_of(init), site,
        std::nullopt};
    const Bytes value = agree_on_variable(core, request, spelling<T>(), out.bytes());
    if (!is_maker) {
      ByteReader in(value);
      receive_value(in, first, core.placement(core.first_replica()));
    }
    return first;
  }
}

}  // namespace belfry::detail
