// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "belfry/backend/backend.h"

#include <numeric>
#include <span>
#include <vector>

namespace belfry::host {

/// Collectives in host memory, in replica order, done at once.
class HostCommunicator final : public Communicator {
 public:
  explicit HostCommunicator(int size) : ranks_(static_cast<std::size_t>(size)) {
    std::iota(ranks_.begin(), ranks_.end(), 0);
  }

  int size() const override { return static_cast<int>(ranks_.size()); }
  std::span<const int> local_ranks() const override { return ranks_; }
  ReductionOrder order() const override { return ReductionOrder::kReplicaOrder; }
  void run(const Collective& collective) override;
  void check_health() override {}

 private:
  std::vector<int> ranks_;
};

}  // namespace belfry::host
