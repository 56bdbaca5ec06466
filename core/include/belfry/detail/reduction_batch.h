// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/participants.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/reduce_op.h"

#include <vector>

namespace belfry::detail {

/// Values that are reduced in one go: one reduction of the strategy's for all that the same
/// replicas bring.
class ReductionBatch {
 public:
  /// Where a value that `present` bring appends its leaves, replica by replica.
  std::vector<std::vector<LeafRef>>& parts_of(const Participants& present, bool has_tensors);
  /// Throws: as reduce_at.
  void reduce(StrategyCore& core, ReduceOp op, CallSite site) const;

 private:
  struct Group {
    Participants present;
    bool has_tensors = false;
    std::vector<std::vector<LeafRef>> parts{};
  };

  std::vector<Group> groups_;
};

}  // namespace belfry::detail
