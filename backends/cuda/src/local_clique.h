// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "clique.h"
#include "event.h"

namespace belfry::cuda {

/// Devices that share a GPU: a single kernel reads every input and writes every output. No kernel
/// waits for another kernel, and no number of devices can deadlock.
class LocalClique final : public Clique {
 public:
  LocalClique(const std::shared_ptr<SharedState>& shared, std::vector<Device*> devices);

  ReductionOrder order() const override { return ReductionOrder::kReplicaOrder; }
  /// For each tensor: the output of rank 0 = the sum over all ranks; other outputs are unchanged.
  /// The parts have been checked by the caller.
  void sum_to_first(std::span<const CollectivePart> parts);
  /// For each tensor: every output = the output of rank 0. The parts have been checked by the
  /// caller.
  void copy_from_first(std::span<const CollectivePart> parts);

 private:
  void do_all_reduce(ReduceOp op, std::span<const CollectivePart> parts) override;
  void do_broadcast(int root, std::span<const CollectivePart> parts) override;
  void do_all_gather(std::span<const CollectivePart> parts) override;

  void reduce(ReduceOp op, std::span<const CollectivePart> inputs,
              std::span<const CollectivePart> outputs, Stream& leading);
  template <class Work>
  void lead(int leader, std::span<const CollectivePart> parts, Work&& work);
  void begin(Stream& leading, std::span<const CollectivePart> parts);
  void end(Stream& leading, std::span<const CollectivePart> parts);
  void copy(const BufferView& to, const BufferView& from, std::size_t to_element, Stream& stream);
  KernelOperand operand(const BufferView& view) const;

  std::vector<std::unique_ptr<Event>> ready_;  // of each rank: its work before the collective
  Event done_;
};

}  // namespace belfry::cuda
