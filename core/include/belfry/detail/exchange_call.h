// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/exchange_verbs.h"
#include "belfry/detail/merge_request.h"
#include "belfry/detail/participants.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/distributed_values.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace belfry::detail {

/// An exchange in which all replicas ask for the same.
struct Exchange {
  const char* verb = "";
  StrategyCore& core;
  const ExchangeMembers& members;
  const Participants& present;  ///< The replicas that take part.
  const ExchangeArgs& args;
  CallSite site{};
  bool on_devices = false;  ///< Tensors of other processes have no elements here (SEM-285).
};

/// What every replica asks for. Throws: StructureMismatchError (kStructure) if replicas differ.
const ExchangeArgs& agreed_args(const char* verb, const PerReplica<ExchangeArgs>& args,
                                CallSite site);
/// The replica of the root. Throws: InvalidArgumentError (kInvalidArgument) without this replica.
int root_of(const Exchange& exchange);
/// The position of the sender to each position; -1 for none. Throws: InvalidArgumentError
/// (kInvalidArgument) for a replica that does not exist or takes no part, and for two senders.
std::vector<int> senders_of(const Exchange& exchange);
/// The replicas whose values a verb of this kind reads. Throws: as root_of and senders_of.
Participants sources_of(const Exchange& exchange, MergeKind kind);
/// Throws: InvalidArgumentError (kInvalidArgument) unless each of `counts`, the numbers of parts of
/// `replicas`, is that of the replicas that take part.
void require_parts(const Exchange& exchange, const std::vector<int>& replicas,
                   const std::vector<std::size_t>& counts);

/// `make(position, place)` for each replica of `own`.
template <class F>
auto for_each_own(const Exchange& exchange, const Participants& own, const F& make) {
  using Result = decltype(make(0, Placement()));
  ReplicaArray<Result> results(own.count());
  for (int i = 0; i < own.count(); ++i) {
    const int replica = own.id(i);
    results.emplace_back(
        make(exchange.members.position_of(replica), exchange.core.placement(replica)));
  }
  return PerReplica<Result>(std::move(results), own);
}

/// The components of `sources`, for the messages of a process to the others.
template <class T>
PerReplica<T> components_of(const PerReplica<T>& values, const Participants& sources) {
  std::vector<int> ids;
  for (int i = 0; i < values.present().count(); ++i) {
    if (sources.has(values.present().id(i))) ids.push_back(values.present().id(i));
  }
  ReplicaArray<T> components(static_cast<int>(ids.size()));
  for (const int id : ids) components.emplace_back(values[id]);
  return PerReplica<T>(std::move(components), Participants(values.present(), std::move(ids)));
}

}  // namespace belfry::detail
