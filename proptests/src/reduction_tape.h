// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/step_tap.h"
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

/// Keeps the reductions of a strategy that the calling thread begins, while the tape lives. Of a
/// reduction whose hook begins further reductions, the outermost alone. Order: each reduction
/// blocks the host until the inputs and the result are computed.
class ReductionTape final : public detail::StepTap {
 public:
  /// The strategy outlives the tape.
  explicit ReductionTape(Strategy& strategy);
  ~ReductionTape() override;
  ReductionTape(const ReductionTape&) = delete;
  ReductionTape& operator=(const ReductionTape&) = delete;

  /// In the order of their ends.
  const std::vector<TapedReduction>& reductions() const { return reductions_; }

 private:
  void around_merge(detail::StrategyCore& core, const StrategyStep& merge,
                    detail::FunctionRef<void()> hook) override;
  void around_reduce(detail::StrategyCore& core, const ReduceCall& call,
                     detail::FunctionRef<void()> hook) override;
  ReductionPlace present_place() const;

  const detail::StrategyCore* core_;
  detail::StepTap* outer_;
  const StrategyStep* merge_ = nullptr;  // The innermost merge.
  bool reduces_ = false;                 // Within a reduction.
  std::vector<TapedReduction> reductions_;
};

}  // namespace belfry::testing
