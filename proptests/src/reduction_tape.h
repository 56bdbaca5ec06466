// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/call_site.h"
#include "belfry/dtype.h"
#include "belfry/reduce_op.h"
#include "belfry/strategy.h"

#include <string>
#include <vector>

namespace belfry::testing {

/// Every number of every element type, exactly.
using Exact = long double;

/// The merge or the line of a reduction.
struct ReductionPlace {
  std::string key;   ///< Equal for equal tags, or without a tag for equal lines.
  std::string text;  ///< For messages: `all_reduce "weight" at train.cpp:5`.
};

/// A leaf of a reduction: the values that the replicas bring, and the result.
struct ReducedLeaf {
  DType dtype = DType::kFloat32;
  bool judged = true;                      ///< False for types with ElementTraits.
  std::vector<std::vector<Exact>> inputs;  ///< By participating replica.
  std::vector<Exact> result;               ///< Of the first of them.
};

/// A reduction of a strategy.
struct TapedReduction {
  ReductionPlace place;
  ReduceOp op = ReduceOp::kSum;
  std::vector<ReducedLeaf> leaves;
};

/// A mirrored strategy that keeps its reductions. Order: each reduction blocks the host until the
/// inputs and the result are computed.
class TapingStrategy final : public Strategy {
 public:
  TapingStrategy(Backend& backend, CallSite site) : Strategy(backend, StrategyOptions{}, site) {}

  const std::vector<TapedReduction>& reductions() const { return reductions_; }

 private:
  void do_merge(StrategyStep& merge) override;
  void do_reduce(const ReduceCall& call) override;
  ReductionPlace present_place() const;

  const StrategyStep* merge_ = nullptr;  // The innermost merge.
  std::vector<TapedReduction> reductions_;
};

}  // namespace belfry::testing
