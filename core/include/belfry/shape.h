// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace belfry {

/// Extents of a tensor, outermost first (row-major). Rank 0 is a scalar with one element.
class Shape {
 public:
  Shape() = default;
  /// Throws: InvalidArgumentError (kShape) when an extent is negative, or the number of elements
  /// does not fit 63 bits.
  Shape(std::initializer_list<std::int64_t> extents, CallSite site = CallSite::here());
  explicit Shape(std::vector<std::int64_t> extents, CallSite site = CallSite::here());

  int rank() const { return static_cast<int>(extents_.size()); }
  /// Extent of `axis`; negative axes count from the end. Throws: InvalidArgumentError (kShape) when
  /// there is no such axis.
  std::int64_t extent(int axis, CallSite site = CallSite::here()) const;
  std::int64_t count() const { return count_; }
  const std::vector<std::int64_t>& extents() const { return extents_; }

  bool operator==(const Shape&) const = default;

 private:
  std::vector<std::int64_t> extents_;
  std::int64_t count_ = 1;
};

/// `[2,3]`; a scalar is `[]`.
std::string to_string(const Shape& shape);

}  // namespace belfry
