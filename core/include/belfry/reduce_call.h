// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/participants.h"
#include "belfry/nest.h"
#include "belfry/reduce_op.h"

#include <span>
#include <vector>

namespace belfry {

/// The arguments of a strategy's reduction.
struct ReduceCall {
  ReduceOp op = ReduceOp::kSum;
  /// The leaves of each participating replica, by replica id. All structures are equal.
  std::span<const std::vector<LeafRef>> parts{};
  /// False: the results of host leaves go to part 0 alone.
  bool everywhere = true;
  const detail::Participants& present;

  /// The replica id of part `part`.
  int replica(int part) const { return present.id(part); }
};

}  // namespace belfry
