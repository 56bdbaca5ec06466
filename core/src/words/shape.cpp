// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/shape.h"

#include "belfry/error.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

namespace belfry {
namespace {

std::string text_of(std::span<const std::int64_t> extents) {
  std::string text = "[";
  for (const std::int64_t extent : extents) {
    if (text.size() > 1) text += ',';
    text += std::to_string(extent);
  }
  return text + "]";
}

[[noreturn]] void reject(std::span<const std::int64_t> extents, std::string_view why,
                         const char* hint, CallSite site) {
  throw InvalidArgumentError(ErrorCode::kShape,
                             "shape " + text_of(extents) + ": " + std::string(why), hint, site);
}

std::int64_t count_of(std::span<const std::int64_t> extents, CallSite site) {
  bool empty = false;
  for (const std::int64_t extent : extents) {
    if (extent < 0) {
      reject(extents, "an extent is negative",
             "write out every extent: -1 is not computed from the others", site);
    }
    empty = empty || extent == 0;
  }
  if (empty) return 0;
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) {
    if (count > std::numeric_limits<std::int64_t>::max() / extent) {
      reject(extents, "the number of elements does not fit 63 bits", "", site);
    }
    count *= extent;
  }
  return count;
}

}  // namespace

Shape::Shape(std::initializer_list<std::int64_t> extents, CallSite site)
    : Shape(std::vector<std::int64_t>(extents), site) {}

Shape::Shape(std::vector<std::int64_t> extents, CallSite site)
    : count_(count_of(extents, site)), rank_(static_cast<int>(extents.size())) {
  if (rank_ > kFew) {
    many_ = std::move(extents);
  } else {
    std::ranges::copy(extents, few_.begin());
  }
}

std::int64_t Shape::extent(int axis, CallSite site) const {
  const int index = axis < 0 ? axis + rank() : axis;
  if (index < 0 || index >= rank()) {
    throw InvalidArgumentError(
        ErrorCode::kShape, "shape " + to_string(*this) + " has no axis " + std::to_string(axis),
        rank() == 0 ? std::string("a shape of rank 0 has no axis")
                    : "axes are 0 to " + std::to_string(rank() - 1) + ", or -1 for the last",
        site);
  }
  return extents()[static_cast<std::size_t>(index)];
}

std::string to_string(Axis axis) { return "axis " + std::to_string(axis.value); }

std::string to_string(const Shape& shape) { return text_of(shape.extents()); }

}  // namespace belfry
