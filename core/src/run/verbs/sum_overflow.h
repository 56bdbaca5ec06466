// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/dtype.h"
#include "belfry/error.h"
#include "belfry/nest.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace belfry::detail {

/// A sum or product of integers that the element type cannot hold (SEM-157).
struct SumOverflow {
  ReduceOp op = ReduceOp::kSum;  ///< kSum or kProd.
  std::size_t leaf = 0;          ///< The first leaf with such a sum.
  std::size_t element = 0;       ///< The first element of the leaf with such a sum.
  std::size_t count = 0;         ///< The number of elements of the leaf.
  DType dtype = DType::kInt32;
  std::string sum;                    ///< The exact sum; of a product, if 128 bits hold it.
  std::vector<std::string> operands;  ///< In the order of the parts.
};

/// Adds or multiplies the integers of all parts in 128 bits, and reports the first result that
/// leaves its type. All structures are equal. Nothing for MEAN, MAX and MIN. Floating-point leaves
/// are not looked at. Order: blocks the host until the integer tensors are computed. Throws:
/// DeviceError.
std::optional<SumOverflow> find_sum_overflow(ReduceOp op,
                                             std::span<const std::vector<LeafRef>> parts);

/// Throws InvalidArgumentError (kSumOverflow). `place` is the text of the leaf's place.
/// `replicas` are the replicas of the operands, which get the operands as their state; without
/// replicas the operands are in the summary.
[[noreturn]] void throw_sum_overflow(const SumOverflow& found, const std::string& place,
                                     std::vector<ReplicaReport> replicas, CallSite site);

}  // namespace belfry::detail
