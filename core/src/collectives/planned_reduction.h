// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cross_device_ops.h"
#include "collectives/plan_schedule.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace belfry::detail {

/// A reduction by a schedule.
class PlannedReduction {
 public:
  /// Allocates all memory: after a failure nothing is enqueued.
  PlannedReduction(const TensorReduction& reduction, const PlanSchedule& schedule);
  /// Enqueues all work.
  void run();

 private:
  // A tensor of one member.
  struct Share {
    BufferView own;     // The terms: the input, or floats for a 16-bit input.
    BufferView sums;    // Partial sums: the output, or floats.
    BufferView output;  // The result.
  };
  // A member, and its share of each tensor.
  struct Member {
    Stream* stream = nullptr;
    std::unique_ptr<Event> reached{};
    BufferPtr arrivals{};  // Chunks copied from other members, until they are added.
    BufferView divisor{};  // The number of members, if partial sums are divided.
    std::vector<Share> shares{};
  };

  Member make_member(std::size_t i) const;
  bool is_widened() const { return sum_type_ != input(0, 0).dtype; }
  const BufferView& input(std::size_t tensor, int member) const {
    return reduction_.tensor(tensor)[static_cast<std::size_t>(member)].input;
  }
  Member& member(int i) { return members_[static_cast<std::size_t>(i)]; }
  BufferView cut(const BufferView& view, std::size_t tensor, const ChunkRange& chunks) const;
  void begin(std::size_t i);
  void wait(const std::vector<std::pair<int, int>>& waits);
  void add(const PlanSchedule::Sum& sum);
  void add(const PlanSchedule::Sum& sum, std::size_t tensor);
  BufferView term_of(const PlanSchedule::Sum& sum, const PlanSchedule::Term& term,
                     std::size_t tensor);
  void finish(const PlanSchedule::Finish& finish);
  void copy(const ReductionPlan::Copy& copy);

  const TensorReduction& reduction_;
  const PlanSchedule& schedule_;
  DType sum_type_;  // Of partial sums: wider than the inputs if they are 16-bit floats.
  std::vector<std::vector<std::size_t>> begins_;  // Of each tensor: where its chunks begin.
  std::size_t longest_chunk_ = 0;                 // Of all tensors, in elements.
  std::vector<Member> members_;
};

}  // namespace belfry::detail
