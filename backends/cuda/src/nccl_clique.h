// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "clique.h"
#include "divisor.h"
#include "event.h"
#include "nccl_communicators.h"

namespace belfry::cuda {

/// Devices on different GPUs, through NCCL. A single thread enqueues the calls of all GPUs as a
/// group, and all tensors of a call in the same group: NCCL launches them together. MEAN is SUM and
/// a division, because NCCL's own average multiplies by a rounded 1/n. 16-bit floats are added and
/// divided as floats, because NCCL would round each partial sum.
class NcclClique final : public Clique {
 public:
  /// Makes the communicators and warms them up, unless the options say otherwise. Order: blocks the
  /// host. Throws: DeviceError; UnsupportedError if launches block.
  NcclClique(const std::shared_ptr<SharedState>& shared, const std::vector<Device*>& devices);
  ~NcclClique() override;

  ReductionOrder order() const override { return ReductionOrder::kUnspecified; }
  bool supports(DType dtype) const override;
  void check_health() override;
  /// Throws: UnsupportedError for an element type that NCCL does not add by belfry's rules.
  static void require_addable(DType dtype);

 private:
  void do_all_reduce(ReduceOp op, std::span<const CollectivePart> parts) override;
  void do_broadcast(int root, std::span<const CollectivePart> parts) override;
  void do_all_gather(std::span<const CollectivePart> parts) override;

  template <class Call>
  void grouped(const char* what, std::span<const CollectivePart> parts, Call&& call);
  void divide(int rank, const CollectivePart& part);
  // The rank of the part at `place` in a call.
  int rank_of(std::size_t place) const { return static_cast<int>(place) % size(); }
  void warm_up();

  NcclCommunicators communicators_;
  std::vector<std::unique_ptr<Event>> done_;  // of each rank: its latest collective
  std::vector<Divisor> divisors_;             // of each rank
};

}  // namespace belfry::cuda
