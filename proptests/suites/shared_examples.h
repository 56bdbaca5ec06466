// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/distributed_dataset.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace belfry::testing {

enum class Sharing : std::uint8_t { kByRow, kInParts, kByElement };

/// The examples of each replica in a step; empty for a replica that takes no part.
using Shares = std::vector<std::optional<std::vector<int>>>;

/// Numbers from 0 on in batches, and what each replica gets (SEM-95), by arithmetic alone.
struct SharedExamples {
  int examples = 0;
  int batch = 1;
  Sharing sharing = Sharing::kByRow;
  EndOfData policy = EndOfData::kMaskReplicas;
  int replicas = 1;

  /// Whether a whole batch leaves replicas without rows.
  bool leaves_some_out() const {
    if (sharing == Sharing::kByElement) return false;
    if (sharing == Sharing::kByRow) return batch < replicas;
    const int part = (batch + replicas - 1) / replicas;
    return (batch + part - 1) / part < replicas;
  }
  std::vector<Shares> steps() const {
    std::vector<Shares> steps;
    for (int index = 0; index < examples; ++index) {
      const auto [step, replica] = place_of(index);
      steps.resize(static_cast<std::size_t>(step) + 1, Shares(static_cast<std::size_t>(replicas)));
      auto& share = steps.back()[static_cast<std::size_t>(replica)];
      if (!share) share.emplace();
      share->push_back(index);
    }
    if (steps.empty()) return steps;
    const bool is_partial =
        sharing == Sharing::kByRow
            ? examples % batch != 0
            : std::ranges::any_of(steps.back(), [](const auto& share) { return !share; });
    if (is_partial && policy == EndOfData::kDropPartialStep) steps.pop_back();
    if (policy != EndOfData::kPadWithEmpties) return steps;
    for (Shares& step : steps) {
      for (auto& share : step) share = share.value_or(std::vector<int>());
    }
    return steps;
  }

 private:
  // The step and the replica of an example.
  std::pair<int, int> place_of(int index) const {
    const int step = index / batch;
    const int row = index % batch;
    if (sharing == Sharing::kByElement) return {step / replicas, step % replicas};
    if (sharing == Sharing::kInParts) {
      const int rows = std::min(batch, examples - step * batch);
      return {step, row / ((rows + replicas - 1) / replicas)};
    }
    // The first `larger` replicas have an additional row.
    const int size = batch / replicas;
    const int larger = batch % replicas;
    const int of_larger = larger * (size + 1);
    return {step, row < of_larger ? row / (size + 1) : larger + (row - of_larger) / size};
  }
};

}  // namespace belfry::testing
