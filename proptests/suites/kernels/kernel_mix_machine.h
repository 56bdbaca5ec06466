// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "suites/kernels/kernel_mix.h"
#include "suites/kernels/own_memory.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace belfry::testing::kernel_mix {

using Vector = Tensor<std::int32_t>;

/// The memories and the variables of a program on the devices of a strategy. Ends before the
/// backend.
class Machine {
 public:
  Machine(Strategy& strategy, int length);

  /// Called by each replica before step `index`, and after the last step with the number of steps.
  /// May throw.
  using Intruder = std::function<void(ReplicaContext& replica, std::size_t index)>;

  /// Runs the steps, and returns the registers of each replica and the refusals; the other members
  /// of the outcome are empty. Throws: exceptions of the run.
  Outcome run(const Program& program, const Intruder& intruder = nullptr);
  /// `outcome` with the memories and the variables. Waits for all work.
  Outcome with_memories(Outcome outcome) const;
  /// Whether every owner of memory is released. After a host wait for all work.
  bool is_released() const;

 private:
  Strategy& strategy_;
  int length_;
  std::vector<std::vector<OwnMemory<std::int32_t>>> memories_;  // Of each replica.
  MirroredVariable<Vector> mirrored_;
  ReplicaLocalVariable<Vector> local_;

  friend class Worker;
};

}  // namespace belfry::testing::kernel_mix
