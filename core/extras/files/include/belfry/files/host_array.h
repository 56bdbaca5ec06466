// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/dataset.h"
#include "belfry/detail/prints.h"
#include "belfry/dtype.h"
#include "belfry/shape.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace belfry {

/// An n-dimensional array in host memory, row-major, with an element type known at run time: the
/// contents of a file. Elements never change, and copies share them.
class HostArray {
 public:
  /// An array of the elements in `bytes`.
  /// Throws: InvalidArgumentError (kShape) if the size is not that of the shape, (kInvalidArgument)
  /// for a boolean other than 0 and 1.
  HostArray(DType dtype, Shape shape, std::vector<std::byte> bytes,
            CallSite site = CallSite::here());

  DType dtype() const { return dtype_; }                        ///< The element type.
  const Shape& shape() const { return shape_; }                 ///< The extents.
  std::span<const std::byte> bytes() const { return *bytes_; }  ///< All elements, row-major.

  /// Element `index` in row-major order.
  /// Throws: InvalidArgumentError (kDType, kOutOfBounds).
  template <Element T>
  T at(std::int64_t index, CallSite site = CallSite::here()) const {
    require(dtype_of<T>(), index, 1, site);
    return load<T>(index);
  }
  /// All elements in row-major order.
  /// Throws: InvalidArgumentError (kDType).
  template <Element T>
  std::vector<T> values(CallSite site = CallSite::here()) const {
    return slice<T>(0, shape_.count(), site);
  }
  /// The elements of a rank-1 array.
  /// Throws: InvalidArgumentError (kDType, kShape).
  template <Element T>
  Dataset<T> elements(CallSite site = CallSite::here()) const {
    require_rank(true, dtype_of<T>(), site);
    const auto element = [array = *this](std::int64_t index) {
      return array.template load<T>(index);
    };
    return Dataset<T>::tabulate(shape_.count(), element).named(words());
  }
  /// The elements of each index of the first axis.
  /// Throws: InvalidArgumentError (kDType, kShape).
  template <Element T>
  Dataset<std::vector<T>> rows(CallSite site = CallSite::here()) const {
    require_rank(false, dtype_of<T>(), site);
    const std::int64_t rows = shape_.extent(0);
    const std::int64_t width = rows == 0 ? 0 : shape_.count() / rows;
    const auto elements_of = [array = *this, width, site](std::int64_t row) {
      return array.template slice<T>(row * width, width, site);
    };
    return Dataset<std::vector<T>>::tabulate(rows, elements_of).named(words());
  }

  /// For readers of files: the array with the name of its file, for the words of datasets.
  HostArray from_file(const std::string& path) &&;

 private:
  // The file, element type, shape and a sample of the elements, as processes compare datasets
  // (SEM-185).
  std::string words() const;
  // Throws unless the element type is `dtype` and elements [begin, begin + count) exist.
  void require(DType dtype, std::int64_t begin, std::int64_t count, CallSite site) const;
  void require_rank(bool exactly_one, DType dtype, CallSite site) const;

  template <Element T>
  T load(std::int64_t index) const {
    T value;
    std::memcpy(&value, bytes_->data() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
    return value;
  }
  template <Element T>
  std::vector<T> slice(std::int64_t begin, std::int64_t count, CallSite site) const {
    require(dtype_of<T>(), begin, count, site);
    std::vector<T> values;
    values.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = begin; i < begin + count; ++i) values.push_back(load<T>(i));
    return values;
  }

  std::string file_{"array"};  // Without its folders.
  DType dtype_;
  Shape shape_;
  // Shared by copies and by the datasets made from the array.
  std::shared_ptr<const std::vector<std::byte>> bytes_;
};

/// Element type and shape: `float32[2,3]`.
std::string to_string(const HostArray& array);

}  // namespace belfry
