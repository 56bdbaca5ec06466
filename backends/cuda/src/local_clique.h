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
  /// For each tensor: the output of rank 0 = the reduction over all ranks; other outputs are
  /// unchanged. The parts have been checked by the caller.
  void reduce_to_first(ReduceOp op, std::span<const CollectivePart> parts);
  /// For each tensor: every output = the output of rank 0. The parts have been checked by the
  /// caller.
  void copy_from_first(std::span<const CollectivePart> parts);
  /// The transfers of `exchange`, whose ranks are positions in the clique. Checked by the caller.
  void exchange_for(const Collective& exchange) { do_exchange(exchange); }
  /// Lets the stream of rank 0 go on after the present work of the streams of all parts.
  void first_follows(std::span<const CollectivePart> parts) { begin(stream(parts[0]), parts); }
  /// Lets the streams of all parts go on after the present work of the stream of rank 0.
  void first_precedes(std::span<const CollectivePart> parts) { end(stream(parts[0]), parts); }

 private:
  void do_all_reduce(ReduceOp op, std::span<const CollectivePart> parts) override;
  void do_broadcast(int root, std::span<const CollectivePart> parts) override;
  void do_all_gather(const Collective& collective) override;
  void do_reduce_scatter(const Collective& collective) override;
  void do_exchange(const Collective& collective) override;

  void reduce(ReduceOp op, std::span<const CollectivePart> inputs,
              std::span<const CollectivePart> outputs, Stream& leading);
  template <class Work>
  void lead(int leader, std::span<const CollectivePart> parts, Work&& work);
  template <class Work>
  void lead(Stream& leading, std::span<const CollectivePart> members,
            std::vector<BufferPtr> buffers, Work&& work);
  void begin(Stream& leading, std::span<const CollectivePart> parts);
  void end(Stream& leading, std::span<const CollectivePart> parts);
  void copy(const BufferView& to, const BufferView& from, Stream& stream);
  KernelOperand operand(const BufferView& view) const;

  std::vector<std::unique_ptr<Event>> ready_;  // of each rank: its work before the collective
  Event done_;
};

}  // namespace belfry::cuda
