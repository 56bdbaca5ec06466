// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/tensor.h"
#include "digits.h"

#include <span>
#include <tuple>
#include <vector>

namespace belfry::demo {

/// Images on a device.
struct Batch {
  Tensor<float> images;   ///< [rows, 64].
  Tensor<float> targets;  ///< [rows, 10]: 1 at the digit, 0 elsewhere, times the scale asked for.

  static auto members(auto& self) { return std::tie(self.images, self.targets); }
};

struct BatchScales {
  float pixel = 1.0F / kDarkest;  ///< A power of two: pixels stay exact.
  float target = 1;
};

/// The images numbered `rows` on the current device.
Batch make_batch(const Digits& digits, std::span<const int> rows, BatchScales scales = {});

/// Part `part` of `parts` of `rows`, a contiguous range. If the division has a remainder, the first
/// parts have an additional row; parts may be empty.
std::span<const int> share(std::span<const int> rows, int part, int parts);

}  // namespace belfry::demo
