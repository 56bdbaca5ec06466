// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"
#include "belfry/sim/cluster.h"

#include <cstdint>
#include <span>
#include <vector>

namespace belfry::sim {

/// Makes the choices between hosts as `inner` does, without the hosts that have to pass: a slow
/// host passes the steps of other hosts until the plan lets it go (SEM-221). Context: on the fibers
/// of hosts.
class SlowHosts final : public Chooser {
 public:
  SlowHosts(Chooser& inner, int hosts, const std::vector<HostFault>& faults);

  bool is_needed() const { return is_needed_; }
  /// Counts a call of the group by a host.
  void call(int host) { ++hosts_[static_cast<std::size_t>(host)].calls; }
  /// Counts a step of a host.
  void step(int host);

  std::uint32_t choose(ChoiceKind kind, std::uint32_t count) override {
    return inner_.choose(kind, count);
  }
  bool wants_candidates() const override { return true; }
  std::uint32_t choose_among(std::span<const AgentId> candidates) override;

 private:
  struct Slowness {
    int call = 1;
    int times = 1;
  };
  struct State {
    std::vector<Slowness> plan{};  // From the lowest call on.
    int calls = 0;
    int passed = 0;  // Steps of other hosts since the last step of this host.
  };

  bool has_to_pass(int host) const;

  Chooser& inner_;
  std::vector<State> hosts_;
  std::vector<std::uint32_t> present_;  // The candidates that need not pass.
  bool is_needed_ = false;
};

}  // namespace belfry::sim
