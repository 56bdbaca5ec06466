// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/files/host_array.h"

#include "belfry/detail/dataset/recipe.h"
#include "belfry/error.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace belfry {

HostArray::HostArray(DType dtype, Shape shape, std::vector<std::byte> bytes, CallSite site)
    : dtype_(dtype), shape_(std::move(shape)) {
  const auto count = static_cast<std::size_t>(shape_.count());
  if (bytes.size() % size_of(dtype) != 0 || bytes.size() / size_of(dtype) != count) {
    throw InvalidArgumentError(ErrorCode::kShape,
                               std::to_string(bytes.size()) + " bytes for an array " +
                                   to_string(dtype) + to_string(shape_),
                               "give the bytes of each element", site);
  }
  if (dtype == DType::kBool &&
      std::ranges::any_of(bytes, [](std::byte byte) { return std::to_integer<int>(byte) > 1; })) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument, "a boolean that is neither 0 nor 1",
                               "make it an array of uint8", site);
  }
  bytes_ = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

HostArray HostArray::from_file(const std::string& path) && {
  file_ = detail::file_name_of(path);
  return std::move(*this);
}

std::string HostArray::words() const {
  constexpr std::size_t kMost = 64;
  std::vector<std::uint8_t> sample;
  // An odd distance meets all bytes of numbers, not only the lowest.
  const std::size_t apart = (bytes_->size() / kMost) | 1U;
  for (std::size_t at = 0; at < bytes_->size(); at += apart) {
    sample.push_back(std::to_integer<std::uint8_t>((*bytes_)[at]));
  }
  return file_ + " " + to_string(*this) + ", sample " +
         detail::ElementSample<std::vector<std::uint8_t>>({sample}).text();
}

void HostArray::require(DType dtype, std::int64_t begin, std::int64_t count, CallSite site) const {
  if (dtype != dtype_) {
    throw InvalidArgumentError(
        ErrorCode::kDType,
        "elements of an array of " + to_string(dtype_) + " were asked for as " + to_string(dtype),
        "ask for " + to_string(dtype_) + " and convert them with map", site);
  }
  if (begin < 0 || count < 0 || begin > shape_.count() - count) {
    throw InvalidArgumentError(
        ErrorCode::kOutOfBounds,
        "element " + std::to_string(begin) + " of an array " + to_string(shape_),
        "elements are numbered from 0, row-major", site);
  }
}

void HostArray::require_rank(bool exactly_one, DType dtype, CallSite site) const {
  require(dtype, 0, 0, site);
  if (exactly_one ? shape_.rank() == 1 : shape_.rank() >= 1) return;
  throw InvalidArgumentError(
      ErrorCode::kShape,
      "an array " + to_string(shape_) + " has no " + (exactly_one ? "single axis" : "rows"),
      exactly_one ? "take rows() of it" : "a scalar is no data set", site);
}

std::string to_string(const HostArray& array) {
  return to_string(array.dtype()) + to_string(array.shape());
}

}  // namespace belfry
