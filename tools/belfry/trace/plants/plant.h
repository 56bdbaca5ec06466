// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"

#include <cstdint>
#include <string>
#include <vector>

namespace belfry::plants {

/// The tool or check with the line and the replicas of a mistake.
enum class Finder : std::uint8_t {
  kError,       ///< The error of a run.
  kExplain,     ///< `belfry explain`, in its remarks.
  kDiff,        ///< `belfry diff` of a run on one replica and a run on two.
  kOneReplica,  ///< testing::compare_with_one_replica.
  kFunctions,   ///< testing::compare_functions.
  kExplore      ///< sim::explore.
};

/// A training program for two replicas, with a mistake or without.
using Program = void (*)(Strategy& strategy, bool planted);

/// A mistake and its right twin. The line of the mistake has the comment `// plant: ` and the name.
struct Plant {
  std::string name;
  Finder finder = Finder::kError;
  Program program = nullptr;
  std::vector<std::string> replicas{};  ///< Texts with replicas, and codes of errors.
};

/// The mistakes with tensors: values of gradients, batches, masks.
std::vector<Plant> value_plants();
/// The mistakes in merges, variables and memory that replicas share.
std::vector<Plant> order_plants();

/// The number of changes of `step_with_change`.
inline constexpr int kChanges = 12;
/// A training step with the changed line `// change: ` and the number; 0: without a change.
void step_with_change(Strategy& strategy, int change);

/// The share of a replica. Shares are as equal as possible, and later replicas have larger shares.
inline std::vector<float> share_of(const ReplicaContext& replica,
                                   const std::vector<float>& values) {
  const auto size = static_cast<std::ptrdiff_t>(values.size());
  const auto begin = [&](int id) { return values.begin() + size * id / replica.num_replicas(); };
  return {begin(replica.replica_id()), begin(replica.replica_id() + 1)};
}

/// A column on the replica's device.
inline Tensor<float> column_of(const std::vector<float>& values, CallSite site = CallSite::here()) {
  const auto rows = static_cast<std::int64_t>(values.size());
  return Tensor<float>::from(Shape{rows, 1}, values, current_placement(site), site);
}

}  // namespace belfry::plants
