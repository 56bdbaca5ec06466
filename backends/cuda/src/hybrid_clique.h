// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "clique.h"
#include "divisor.h"
#include "event.h"
#include "local_clique.h"
#include "nccl_clique.h"

namespace belfry::cuda {

/// Several devices on each of several GPUs. The devices of a GPU are a group, and the lowest rank
/// of a group is its leader. All devices reduce in three steps, here x0 to x4 on two GPUs:
///
///     a kernel in each group     GPU 0: x0 + x1 + x2 on rank 0    GPU 1: x3 + x4 on rank 3
///     NCCL among the leaders     the sum of all on ranks 0 and 3
///     copies in each group       the sum of all on all ranks
///
/// MEAN divides once, at the leaders. 16-bit floats are floats until the copies. Other operators
/// take the place of the sum in the first two steps. In a reduce-scatter NCCL brings each slice to
/// the leader of its rank alone. Leaders send and receive for their groups.
class HybridClique final : public Clique {
 public:
  /// A communicator of several processes: `leader_of` has, for each rank, the number of the leader
  /// among the leaders of all processes.
  struct Span {
    RankSpan ranks;
    std::vector<int> leader_of;
    NcclSpan leaders;
    bool warm_up = true;
  };

  HybridClique(const std::shared_ptr<SharedState>& shared, std::vector<Device*> devices);
  /// `devices` are in the calling process. Throws: as NcclClique.
  HybridClique(const std::shared_ptr<SharedState>& shared, std::vector<Device*> devices, Span span);

  ReductionOrder order() const override { return ReductionOrder::kUnspecified; }
  bool supports(DType dtype) const override { return among_leaders_->supports(dtype); }
  void check_health() override;

 private:
  using Parts = std::vector<CollectivePart>;

  struct Group {
    std::vector<int> members;  // of this process, ascending; the first leads
    std::unique_ptr<LocalClique> clique;
  };

  void do_all_reduce(ReduceOp op, std::span<const CollectivePart> parts) override;
  void do_broadcast(int root, std::span<const CollectivePart> parts) override;
  void do_all_gather(const Collective& collective) override;
  void do_reduce_scatter(const Collective& collective) override;
  void do_exchange(const Collective& collective) override;

  void exchange_between_gpus(const Collective& collective);
  void exchange_on_gpu(const Group& group, const Collective& collective);
  bool crosses_gpus(const Transfer& one) const;
  std::vector<Device*> make_groups(const std::shared_ptr<SharedState>& shared);
  std::size_t group_of(int member) const;
  Parts parts_of(const Group& group, std::span<const CollectivePart> parts) const;
  Parts leaders(std::span<const CollectivePart> parts) const;

  std::vector<int> leader_of_;  // of each rank; in a single process, the group
  std::vector<Group> groups_;
  std::unique_ptr<NcclClique> among_leaders_;
  std::vector<Divisor> divisors_;  // of each group's leader
  Event handover_;
};

}  // namespace belfry::cuda
