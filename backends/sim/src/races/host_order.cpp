// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "races/host_order.h"

namespace belfry::sim::races {
namespace {

bool begins_phase(const Observation& seen) {
  if (seen.kind == Observation::Kind::kRunBegan || seen.kind == Observation::Kind::kRunEnded) {
    return true;
  }
  return seen.operation != nullptr && seen.operation->kind == OperationKind::kMerge;
}

}  // namespace

HostAgent& HostOrder::see(const Observation& seen) {
  const std::size_t number = number_of(seen);
  HostAgent& agent = agents_[number];
  if (agent.phase != phase_) {
    agent.phase = phase_;
    agent.clock = base_;
    agent.streams.clear();
    active_.push_back(number);
  }
  return agent;
}

// Lanes have the order of the first observations.
std::size_t HostOrder::number_of(const Observation& seen) {
  const bool is_replica = seen.actor.agent.kind == AgentId::Kind::kReplica;
  if (is_replica != replicas_go_on_ || begins_phase(seen)) change_phase();
  replicas_go_on_ = is_replica;
  const std::int32_t slot = is_replica ? seen.actor.agent.index : HostAgent::kCaller;
  const auto number = static_cast<std::size_t>(slot + 1);
  if (agents_.find(number) == nullptr) {
    HostAgent& agent = agents_[number];
    agent.slot = slot;
    agent.lane = lanes_++;
  }
  return number;
}

void HostOrder::change_phase() {
  for (const std::size_t number : active_) base_.join(agents_[number].clock);
  active_.clear();
  ++phase_;
}

}  // namespace belfry::sim::races
