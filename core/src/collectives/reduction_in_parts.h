// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/process_parts.h"
#include "belfry/cross_device_ops.h"
#include "belfry/detail/participants.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/detail/strategy_reductions.h"
#include "belfry/nest.h"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Memory for elements of other processes, kept from reduction to reduction.
class PartsRoom {
 public:
  /// `bytes` bytes with undefined contents, at a multiple of 16. Throws: std::bad_alloc.
  std::shared_ptr<std::byte> take(std::size_t bytes);

 private:
  std::shared_ptr<std::byte[]> memory_;  // Shared with parts underway.
  std::size_t bytes_ = 0;
};

/// A reduction of tensors whose elements are in several processes (SEM-220). Process p owns the
/// p-th range of every tensor. The processes send each owner its ranges, the owner combines the
/// values of all replicas in one call, in the order of the call, and the processes send one another
/// the combined ranges. An order that depends on the place of an element in a tensor needs whole
/// tensors.
/// If the host holds the elements of the other processes, each process combines whole tensors, and
/// nothing is exchanged.
class ReductionInParts {
 public:
  /// The replicas of all processes and of this process, and a device for each.
  struct Replicas {
    const Participants& all;
    const Participants& own;
    ReplicaDevices& devices;
  };

  ReductionInParts(const PartsExchange& exchange, PartsRoom& room, const Replicas& replicas)
      : exchange_(exchange), room_(room), replicas_(replicas) {}

  /// Replaces the tensors of `leaves` in the parts of this process by the reduction over all parts.
  /// `parts[i]` are the leaves of the i-th replica.
  /// Order: blocks the host until the tensors of this process are computed, and all processes have
  /// called. Throws: DeviceError, std::bad_alloc; the errors of PartsExchange::exchange.
  void reduce(ReduceOp op, ReductionOrder order, std::span<const std::vector<LeafRef>> parts,
              std::span<const std::size_t> leaves);

 private:
  // A tensor of every replica.
  struct Leaf {
    AnyTensor result{};
    std::shared_ptr<std::byte> elements{};   // Of the result; shared with parts underway.
    std::vector<const std::byte*> inputs{};  // The range of this process, by replica.
    DType dtype = DType::kFloat32;
    std::size_t count = 0;
    bool is_whole = false;
  };
  struct Range {
    std::size_t begin = 0;  // In bytes.
    std::size_t end = 0;
    std::size_t bytes() const { return end - begin; }
  };

  Range range_of(const Leaf& leaf, int process) const;
  Range own_range(const Leaf& leaf) const { return range_of(leaf, exchange_.rank); }
  bool is_own(std::size_t part) const {
    return replicas_.own.has(replicas_.all.id(static_cast<int>(part)));
  }
  void prepare(std::span<const std::vector<LeafRef>> parts, std::span<const std::size_t> leaves);
  void prepare_own(Leaf& leaf, const AnyTensor& tensor);
  void prepare_other(Leaf& leaf, const AnyTensor& tensor, int replica,
                     std::shared_ptr<std::byte>& room);
  std::size_t room_for_others(std::span<const std::vector<LeafRef>> parts,
                              std::span<const std::size_t> leaves) const;
  void combine(ReduceOp op, ReductionOrder order);
  void exchange_result(const Leaf& leaf);
  template <class F>
  void exchange_after(bool is_exchange, const F& work);

  const PartsExchange& exchange_;
  PartsRoom& room_;
  Replicas replicas_;
  std::vector<Leaf> leaves_;
  std::vector<SentPart> sent_;
  std::vector<ReceivedPart> received_;
};

}  // namespace belfry::detail
