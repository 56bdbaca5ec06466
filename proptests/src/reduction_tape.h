// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/step_tap.h"
#include "belfry/dtype.h"
#include "belfry/reduction.h"
#include "belfry/strategy.h"

#include <cstddef>
#include <cstdint>
#include <span>
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

/// A leaf of a reduction or of a variable.
struct TapedLeaf {
  DType dtype = DType::kFloat32;
  bool judged = true;                      ///< False for types with ElementTraits.
  std::vector<std::vector<Exact>> inputs;  ///< Of a reduction, by participating replica.
  std::vector<Exact> result;               ///< Of the first participating replica, or component.
  std::vector<std::byte> bytes;            ///< The same.
};

/// A reduction of a strategy.
struct TapedReduction {
  ReductionPlace place;
  ReduceOp op = ReduceOp::kSum;
  std::vector<TapedLeaf> leaves;
};

/// The new value of a mirrored variable.
struct TapedChange {
  std::string variable;  ///< The name.
  CallSite site{};
  std::vector<TapedLeaf> leaves;
};

/// Gets the contents of a tape, in the order of the ends of reductions and the changes of
/// variables. The leaves returned by a reader have the structure of the argument, and replace the
/// result or the new value on all replicas; null: nothing changes.
class TapeReader {
 public:
  virtual const std::vector<TapedLeaf>* take(TapedReduction reduction) = 0;
  virtual const std::vector<TapedLeaf>* take(TapedChange change) = 0;

 protected:
  ~TapeReader() = default;
};

/// Shows a reader the reductions of a strategy that the calling thread begins, and the changes of
/// mirrored variables, while the tape lives. Of a reduction whose hook begins further reductions,
/// the outermost alone. Order: each reduction and each change blocks the host until the values are
/// computed.
class ReductionTape final : public detail::StepTap {
 public:
  /// The strategy and the reader outlive the tape.
  ReductionTape(Strategy& strategy, TapeReader& reader);
  ~ReductionTape() override;
  ReductionTape(const ReductionTape&) = delete;
  ReductionTape& operator=(const ReductionTape&) = delete;

  /// `; 3 merges at train.cpp:5 have no names: their order is not compared`, for each line with
  /// several such merges in a run, in the order of the lines' first merges.
  std::string unnamed_merges() const;

 private:
  struct UnnamedLine {
    CallSite site{};
    std::uint64_t run = 0;
    int count = 0;  // In the run.
    int most = 0;   // In any run.
  };

  void around_merge(detail::StrategyCore& core, const StrategyStep& merge,
                    detail::FunctionRef<void()> hook) override;
  void around_reduce(detail::StrategyCore& core, const ReduceCall& call,
                     detail::FunctionRef<void()> hook) override;
  void before_change(detail::StrategyCore& core, const detail::VariableInfo& info,
                     std::span<const std::vector<LeafRef>> components, CallSite site) override;
  ReductionPlace present_place() const;
  void count_unnamed(CallSite site, std::uint64_t run);

  const detail::StrategyCore* core_;
  TapeReader& reader_;
  detail::StepTap* outer_;
  const StrategyStep* merge_ = nullptr;  // The innermost merge.
  bool reduces_ = false;                 // Within a reduction.
  std::vector<UnnamedLine> unnamed_;
};

}  // namespace belfry::testing
