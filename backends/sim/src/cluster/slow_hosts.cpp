// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/slow_hosts.h"

#include <algorithm>

namespace belfry::sim {

SlowHosts::SlowHosts(Chooser& inner, int hosts, const std::vector<HostFault>& faults)
    : inner_(inner), hosts_(static_cast<std::size_t>(hosts)) {
  for (const HostFault& fault : faults) {
    if (fault.kind != HostFault::Kind::kSlow) continue;
    hosts_[static_cast<std::size_t>(fault.host)].plan.push_back({fault.call, fault.times});
    is_needed_ = true;
  }
  // Choices are made on stacks that an exception must not unwind.
  present_.reserve(hosts_.size());
}

void SlowHosts::step(int host) {
  if (!is_needed_) return;
  for (State& other : hosts_) ++other.passed;
  hosts_[static_cast<std::size_t>(host)].passed = 0;
}

bool SlowHosts::has_to_pass(int host) const {
  const State& state = hosts_[static_cast<std::size_t>(host)];
  return std::ranges::any_of(state.plan, [&](const Slowness& slow) {
    return state.calls >= slow.call - 1 && state.passed < slow.times - 1;
  });
}

std::uint32_t SlowHosts::choose_among(std::span<const AgentId> candidates) {
  present_.clear();
  for (std::uint32_t i = 0; i < candidates.size(); ++i) {
    if (!has_to_pass(candidates[i].index)) present_.push_back(i);
  }
  // If all have to pass, the schedule decides alone.
  if (present_.empty()) return inner_.choose_among(candidates);
  const auto count = static_cast<std::uint32_t>(present_.size());
  return present_[inner_.choose(ChoiceKind::kAgent, count)];
}

}  // namespace belfry::sim
