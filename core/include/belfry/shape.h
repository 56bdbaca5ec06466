// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/prints.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace belfry {

/// Extents of a tensor, outermost first (row-major). Rank 0 is a scalar with one element.
class Shape {
 public:
  Shape() = default;
  /// Throws: InvalidArgumentError (kShape) if an extent is negative, or if the number of elements
  /// does not fit 63 bits.
  Shape(std::initializer_list<std::int64_t> extents, CallSite site = CallSite::here());
  explicit Shape(std::vector<std::int64_t> extents, CallSite site = CallSite::here());

  int rank() const { return rank_; }  ///< The number of axes.
  /// The extent of `axis`; negative axes count from the end.
  /// Throws: InvalidArgumentError (kShape) if the shape lacks the axis.
  std::int64_t extent(int axis, CallSite site = CallSite::here()) const;
  std::int64_t count() const { return count_; }  ///< The number of elements.
  /// All extents, outermost first. Valid as long as the shape.
  std::span<const std::int64_t> extents() const {
    if (rank_ > kFew) return many_;
    return {few_.data(), static_cast<std::size_t>(rank_)};
  }

  bool operator==(const Shape&) const = default;

 private:
  // Shapes are copied with every tensor. Up to kFew extents are stored here, without an allocation.
  static constexpr int kFew = 4;

  std::array<std::int64_t, kFew> few_{};
  std::vector<std::int64_t> many_;  // All extents, if rank_ > kFew.
  std::int64_t count_ = 1;
  int rank_ = 0;
};

/// `[2,3]`; a scalar is `[]`.
std::string to_string(const Shape& shape);

/// A dimension of a tensor or vector (a vector has axis 0 alone). Negative numbers count from the
/// last: `Axis(-1)`.
struct Axis {
  /// The axis with this number.
  explicit constexpr Axis(int number) : value(number) {}

  int value;  ///< From 0, or negative from -1 for the last.
};

/// `axis 1`.
std::string to_string(Axis axis);

}  // namespace belfry
