// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "clique.h"
#include "divisor.h"
#include "event.h"
#include "nccl_communicators.h"
#include "peer_work.h"

namespace belfry::cuda {

/// Devices on different GPUs, through NCCL. A single thread enqueues the calls of all GPUs as a
/// group, and all tensors of a call in the same group: NCCL launches them together. MEAN is SUM and
/// a division, because NCCL's own average multiplies by a rounded 1/n. 16-bit floats are added and
/// divided as floats, because NCCL would round each partial sum. Extremes of floats are gathered
/// and reduced by a kernel on each GPU, because NCCL would drop NaN: each GPU then holds the inputs
/// of all ranks.
class NcclClique final : public Clique {
 public:
  /// Makes the communicators and warms them up, unless the options say otherwise. Order: blocks the
  /// host. Throws: DeviceError; UnsupportedError if launches block.
  NcclClique(const std::shared_ptr<SharedState>& shared, const std::vector<Device*>& devices);
  /// Over the GPUs of several processes: all processes make the clique, each with `devices` of its
  /// own and an equal `warm_up`. Order: blocks the host. Throws: as above; ProcessLostError;
  /// UnsupportedError if NCCL does not join the GPUs.
  NcclClique(const std::shared_ptr<SharedState>& shared, const std::vector<Device*>& devices,
             const NcclSpan& span, bool warm_up);
  ~NcclClique() override;

  ReductionOrder order() const override { return ReductionOrder::kUnspecified; }
  bool supports(DType dtype) const override;
  void check_health() override;
  /// Whether all_reduce of a clique takes elements of type `dtype`.
  static bool reduces(DType dtype);
  /// Throws: UnsupportedError for an element type that NCCL does not add by belfry's rules.
  static void require_addable(DType dtype);

  /// Part of a collective of a larger clique, which has checked the parts and counts the call.
  void reduce_for(ReduceOp op, std::span<const CollectivePart> parts) { do_all_reduce(op, parts); }
  /// Rank r of the larger clique has slice r of the inputs: the reduction is written to slice r of
  /// the output of the rank `owners[r]`. Inputs are as long as outputs.
  void reduce_slices_for(const Collective& larger, std::span<const CollectivePart> parts,
                         std::span<const int> owners);
  void exchange_for(Collective exchange) {
    exchange.first = first_rank();
    do_exchange(exchange);
  }
  void broadcast_for(int root, std::span<const CollectivePart> parts) { do_broadcast(root, parts); }

 private:
  void do_all_reduce(ReduceOp op, std::span<const CollectivePart> parts) override;
  void reduce_gathered(ReduceOp op, std::span<const CollectivePart> parts);
  void do_broadcast(int root, std::span<const CollectivePart> parts) override;
  void do_all_gather(const Collective& collective) override;
  void do_reduce_scatter(const Collective& collective) override;
  void do_exchange(const Collective& collective) override;

  /// A member with work in a group of calls.
  struct Caller {
    int member = 0;
    Stream* stream = nullptr;
    std::vector<BufferPtr> buffers{};
  };

  template <class Call>
  void grouped(const char* what, Counters::Verb& verb, std::span<const CollectivePart> parts,
               Call&& call);
  template <class Calls>
  void grouped(const char* what, Counters::Verb& verb, std::vector<Caller> callers, Calls&& calls);
  void divide(int member, const CollectivePart& part);
  void mark_end(int member, belfry::Stream& stream);
  // The member of the part at `place` in a call.
  int member_of(std::size_t place) const { return static_cast<int>(place) % members(); }
  void prepare(const std::shared_ptr<SharedState>& shared);
  void begin(bool warm_up);
  void warm_up();
  PeerWork::Clique functions();
  bool is_done() const;
  void await_peers() noexcept;

  NcclCommunicators communicators_;
  std::vector<std::unique_ptr<Event>> done_;  // of each member: its latest collective
  std::vector<Divisor> divisors_;             // of each member
  std::shared_ptr<PeerWork> work_;            // with waits of the host; null in a single process
};

}  // namespace belfry::cuda
