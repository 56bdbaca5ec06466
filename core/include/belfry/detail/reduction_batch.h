// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/participants.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/reduce_op.h"

#include <cstddef>
#include <exception>
#include <string>
#include <vector>

namespace belfry::detail {

/// An error about the structure or the element types of a value, with the index of the value in its
/// batch: ` in value 2 of the batch`. Exceptions about anything else are returned unchanged.
std::exception_ptr in_value_of_batch(std::exception_ptr error, std::size_t value);

/// Values that are reduced in one call: one reduction of the strategy for all values with the same
/// participants.
class ReductionBatch {
 public:
  /// The leaves, in words, of the value with this index.
  using ValueWords = FunctionRef<std::vector<LeafDescription>(std::size_t)>;

  /// The lists to which the next value, with these participants, appends its leaves, a list for
  /// each participant. Valid until the next call.
  std::vector<std::vector<LeafRef>>& parts_of(const Participants& present, bool has_tensors);
  /// The index of the last value.
  std::size_t last_value() const { return values_ - 1; }
  /// Throws: as reduce_at, with the index of the value.
  void reduce(StrategyCore& core, ReduceOp op, CallSite site, ValueWords describe) const;

 private:
  struct Group {
    Participants present;
    bool has_tensors = false;
    std::vector<std::vector<LeafRef>> parts{};
    std::vector<std::size_t> values{};  // Their indices, in the order of their leaves.

    std::string place_of(std::size_t leaf, ValueWords describe) const;
  };

  std::vector<Group> groups_;
  std::size_t values_ = 0;
};

}  // namespace belfry::detail
