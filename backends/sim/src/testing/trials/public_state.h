// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "testing/trials/public_program.h"
#include "testing/trials/public_step.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace belfry::sim::testing {

/// The memory of a PublicProgram: captured cells and shared tensors, and the numbers and tensors of
/// each replica.
class PublicState {
 public:
  PublicState(const PublicProgram& program, Backend& backend, Strategy& strategy);
  /// Waits for work: kernels may use the cells until their streams have none.
  ~PublicState();
  PublicState(const PublicState&) = delete;
  PublicState& operator=(const PublicState&) = delete;

  /// Carries out a step. Context: `replica` is current.
  void take(ReplicaContext& replica, const PublicStep& step);

  /// All values. Order: the host waits for all work. Context: outside runs.
  std::vector<double> values();

 private:
  void wait_for_work();
  Tensor<float>& own(const ReplicaContext& replica);
  Placement neighbour(const ReplicaContext& replica) const;
  void take_on_host(ReplicaContext& replica, const PublicStep& step);
  void take_with_tensors(ReplicaContext& replica, const PublicStep& step);
  void launch_kernel(ReplicaContext& replica, const PublicStep& step);
  void take_together(ReplicaContext& replica, const PublicStep& step);
  void run_nested(PublicStep::Kind kind);
  void merge(ReplicaContext& replica, const PublicStep& step);
  void make_variable(ReplicaContext& replica, const PublicStep& step);
  void exchange(ReplicaContext& replica, const PublicStep& step);
  void change_rows(ReplicaContext& replica, const PublicStep& step);

  const PublicProgram& program_;
  Strategy& strategy_;
  std::vector<double> cells_;
  std::vector<double> slots_;          // A number of each replica.
  std::vector<Tensor<float>> shared_;  // Tensor i is on the device of replica i.
  std::vector<Tensor<float>> own_;     // A tensor of each replica; empty until the first use.
  std::unique_ptr<Stream> stream_;     // Of all replicas.
  BufferView raw_;
  MirroredVariable<double> total_;
  ReplicaLocalVariable<double> local_;
  ReplicaMesh mesh_;
  ShardedVariable<float> rows_;  // Row i begins as i + 1; a row more than replicas.
};

}  // namespace belfry::sim::testing
