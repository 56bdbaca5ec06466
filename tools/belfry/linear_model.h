// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/strategies.h"
#include "digits.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace belfry::demo {

/// The results of training a linear model in whole numbers.
struct LinearReport {
  int steps = 0;
  std::int64_t compared = 0;         ///< Count of numbers compared with a single device.
  std::int64_t different = 0;        ///< Count of compared numbers with different bits.
  std::vector<float> weights;        ///< After the last step, [64, 10].
  std::vector<float> last_gradient;  ///< Of the last step, [64, 10].
};

/// Trains a linear model of small integers on the replicas and, from the same state, on a single
/// device. Compares gradients and weights bit for bit after each step.
///
/// Pixels are 0 to 16, targets 0 or 16, and weights stay within -3 and 3: a step moves each weight
/// by the sign of its gradient. An output is at most 64 * 16 * 3 = 3072 in magnitude, an error
/// 3088, and an element of the gradient over 256 examples 256 * 16 * 3088 < 2^24. Therefore
/// binary32 holds every partial sum exactly, and sums in any order have the same bits, without an
/// allowance for rounding.
LinearReport train_linear_model(Strategy& strategy, const Digits& digits, std::span<const int> rows,
                                int steps);

/// The most examples of a step.
inline constexpr int kLinearBatch = 256;

}  // namespace belfry::demo
