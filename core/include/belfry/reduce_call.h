// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/participants.h"
#include "belfry/nest.h"
#include "belfry/reduce_op.h"

#include <span>
#include <vector>

namespace belfry {

/// A reduction as a strategy is asked for it.
struct ReduceCall {
  ReduceOp op = ReduceOp::kSum;
  /// The leaves that each replica brings, of those that take part, by replica id. The structures
  /// are equal.
  std::span<const std::vector<LeafRef>> parts{};
  /// False: host leaves are wanted in part 0 alone.
  bool everywhere = true;
  const detail::Participants& present;

  /// The replica that brings part `part`.
  int replica(int part) const { return present.id(part); }
};

}  // namespace belfry
