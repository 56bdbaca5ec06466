// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/collective.h"
#include "engine/engine.h"

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace belfry::sim {

/// Collectives that run as one kernel over all members' memory, once all members' streams have got
/// there. Adds up in replica order.
class SimCommunicator final : public Communicator {
 public:
  SimCommunicator(std::vector<int> devices, std::shared_ptr<engine::Engine> engine);

  int size() const override { return static_cast<int>(devices_.size()); }
  std::span<const int> local_ranks() const override { return ranks_; }
  ReductionOrder order() const override { return ReductionOrder::kReplicaOrder; }
  void all_reduce(ReduceOp op, std::span<const CollectivePart> parts) override;
  void broadcast(int root, std::span<const CollectivePart> parts) override;
  void all_gather(std::span<const CollectivePart> parts) override;
  void check_health() override { engine_->check_failures(); }

 private:
  // A command with the accesses of `collective`, which is checked.
  engine::Command begin(const Collective& collective) const;
  // Checks a collective and appends its accesses.
  void add(const Collective& collective, engine::Command& command) const;
  // Throws InvalidArgumentError unless the stream of each part is of the device of its rank.
  void require_own_streams(std::span<const CollectivePart> parts, std::string_view name) const;
  void enqueue(std::span<const CollectivePart> parts, engine::Command command);

  std::vector<int> devices_;
  std::vector<int> ranks_;
  // Shared with the backend, which a communicator may outlive unused.
  std::shared_ptr<engine::Engine> engine_;
};

}  // namespace belfry::sim
