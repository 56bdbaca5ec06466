// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/planned_all_reduce.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace belfry::detail {

/// A valid plan, the place of each operand, and the waits between members. A schedule serves all
/// tensors and all reductions of a number of members.
class PlanSchedule {
 public:
  /// The place of a chunk of a member.
  enum class Place : unsigned char {
    kInput,  ///< Nothing was added yet.
    kSum,    ///< A partial sum, or a full sum that is not finished.
  };
  struct Term {
    int member;
    Place place;
  };
  /// A sum over chunks; each term has all the chunks in the same place.
  struct Sum {
    int member;
    ChunkRange chunks;
    std::vector<Term> terms;
    bool is_complete;  ///< Whether the terms are the inputs of all members: the sum is the result.
  };
  /// Chunks with full sums, to be divided and rounded.
  struct Finish {
    int member;
    ChunkRange chunks;
  };
  /// Waits come before the work of the step: `first` waits for all earlier steps of `second`.
  struct Step {
    std::vector<std::pair<int, int>> waits{};
    std::vector<Sum> sums{};
    std::vector<ReductionPlan::Copy> copies{};
  };

  /// Throws: InvalidArgumentError (kInvalidArgument) if the plan is not valid.
  explicit PlanSchedule(ReductionPlan plan);

  const ReductionPlan& plan() const { return plan_; }
  const std::vector<Step>& sums() const { return sums_; }
  const std::vector<Finish>& finishes() const { return finishes_; }
  const std::vector<Step>& copies() const { return copies_; }
  /// Waits after the last step: members read memory of other members until then.
  const std::vector<std::pair<int, int>>& last_waits() const { return last_waits_; }
  /// Whether some sum is partial: 16-bit floats then need memory for float sums.
  bool has_partial_sums() const { return has_partial_sums_; }
  /// The largest number of chunks that `member` receives for a sum.
  int most_chunks_received(int member) const {
    return most_received_[static_cast<std::size_t>(member)];
  }

 private:
  ReductionPlan plan_;
  std::vector<Step> sums_;
  std::vector<Finish> finishes_;
  std::vector<Step> copies_;
  std::vector<std::pair<int, int>> last_waits_;
  bool has_partial_sums_ = false;
  std::vector<int> most_received_;
};

}  // namespace belfry::detail
