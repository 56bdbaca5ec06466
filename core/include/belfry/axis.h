// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace belfry {

/// A dimension of a tensor or vector (a vector has axis 0 alone). Negative numbers count from the
/// last: `Axis(-1)`.
struct Axis {
  explicit constexpr Axis(int number) : value(number) {}

  int value;
};

}  // namespace belfry
