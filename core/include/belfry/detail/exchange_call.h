// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/exchange_verbs.h"
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
};

/// What every replica asks for. Throws: StructureMismatchError (kStructure) if replicas differ.
const ExchangeArgs& agreed_args(const char* verb, const PerReplica<ExchangeArgs>& args,
                                CallSite site);
/// The replica of the root. Throws: InvalidArgumentError (kInvalidArgument) without this replica.
int root_of(const Exchange& exchange);
/// The position of the sender to each position; -1 for none. Throws: InvalidArgumentError
/// (kInvalidArgument) for a replica that does not exist or takes no part, and for two senders.
std::vector<int> senders_of(const Exchange& exchange);
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

}  // namespace belfry::detail
