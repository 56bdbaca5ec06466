// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/prints.h"
#include "belfry/detail/strategy_reductions.h"

#include <cstdint>
#include <string>

namespace belfry {

/// Counts of the work of a strategy.
struct StrategyStatistics {
  std::uint64_t runs = 0;
  std::uint64_t merges = 0;  ///< merge_calls, reductions in replicas, and assignments.
  std::uint64_t updates = 0;
  ReductionStatistics reduction{};

  bool operator==(const StrategyStatistics&) const = default;
};

/// `runs 2, merges 6, updates 4, reductions 6, host leaves 3, tensor leaves 3, bytes 64`.
std::string to_string(const StrategyStatistics& statistics);

namespace detail {
template <>
inline constexpr bool kPrints<StrategyStatistics> = true;
}  // namespace detail

}  // namespace belfry
