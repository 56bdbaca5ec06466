// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/backend/collective.h"
#include "device.h"
#include "flight_calls.h"
#include "stream.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace belfry::cuda {

/// The ranks of a communicator over several processes, as a process sees the ranks.
struct RankSpan {
  int size = 0;   ///< In all processes.
  int first = 0;  ///< The lowest rank of this process.
};

/// Base of all communicators of the backend: the members in this process, and the checks of
/// arguments.
class Clique : public Communicator {
 public:
  int size() const final { return span_.size; }
  std::span<const int> local_ranks() const final { return ranks_; }
  void run(const Collective& given) final;
  void check_health() override;
  /// Tells the flight recorder of the backend, if there is one, of each collective. `group` has the
  /// ranks of this process.
  void record(const detail::FlightGroup& group);
  /// The communicator is about to be aborted.
  void stop_recording() noexcept {
    if (flights_ != nullptr) flights_->stop();
  }

 protected:
  /// All members are in this process.
  Clique(std::shared_ptr<SharedState> shared, std::vector<Device*> devices);
  /// `devices` are the members in this process.
  Clique(std::shared_ptr<SharedState> shared, std::vector<Device*> devices, RankSpan span);

  SharedState& shared() const { return *shared_; }
  /// The number of members in this process.
  int members() const { return static_cast<int>(devices_.size()); }
  /// The rank of the first member in this process.
  int first_rank() const { return span_.first; }
  /// Whether a rank is of this process.
  bool is_here(int rank) const { return rank >= first_rank() && rank < first_rank() + members(); }
  Device& device(int member) const { return *devices_[static_cast<std::size_t>(member)]; }
  Stream& stream(const CollectivePart& part) const;
  void* address(const BufferView& view) const;
  /// The number of tensors in a checked call of all_reduce.
  std::size_t tensors(std::span<const CollectivePart> parts) const {
    return parts.size() / devices_.size();
  }
  /// The parts of one tensor of the call, a part for each member.
  std::span<const CollectivePart> tensor(std::span<const CollectivePart> parts,
                                         std::size_t index) const {
    return parts.subspan(index * devices_.size(), devices_.size());
  }
  /// A reduce-scatter with any operator: each rank receives the slices for the rank, and a kernel
  /// reduces the slices in the order of ranks. Each device has memory for the slices.
  void reduce_received(const Collective& collective);
  /// The memory of `parts`.
  static std::vector<BufferPtr> buffers_of(std::span<const CollectivePart> parts);
  /// The memory of `transfers` in this process.
  std::vector<BufferPtr> buffers_of(std::span<const Transfer> transfers) const;

 private:
  // Called after the checks. `parts` has any number of tensors, and each member has one stream for
  // all of them.
  virtual void do_all_reduce(ReduceOp op, std::span<const CollectivePart> parts) = 0;
  virtual void do_broadcast(int root, std::span<const CollectivePart> parts) = 0;
  virtual void do_all_gather(const Collective& collective) = 0;
  virtual void do_reduce_scatter(const Collective& collective) = 0;
  virtual void do_exchange(const Collective& collective) = 0;

  void require(const Collective& collective) const;
  void require_here(int member, const BufferView& view) const;
  void tell(const Collective& collective) const;
  void carry_out(const Collective& collective);
  Counters::Verb& counter_of(CollectiveKind kind) const;

  std::shared_ptr<SharedState> shared_;  // with the Backend
  std::vector<Device*> devices_;
  RankSpan span_;
  std::vector<int> ranks_;
  std::unique_ptr<FlightCalls> flights_;
};

}  // namespace belfry::cuda
