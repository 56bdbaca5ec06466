// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/dtype.h"
#include "belfry/shape.h"
#include "belfry/tensor_file.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::detail {

/// An array of a file whose elements are elsewhere.
struct ArrayOutline {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape{};
};

/// A part of a file: bytes, or the place of the elements of an outlined array.
struct FilePart {
  std::string_view bytes{};
  int array = -1;  ///< The number of the outlined array; -1: bytes.
};

/// The parts of a tensor file, in order. The file must outlive the layout.
class TensorFileLayout {
 public:
  /// Throws: as TensorFile::contents, also for two arrays of one name.
  TensorFileLayout(const TensorFile& file, std::span<const ArrayOutline> arrays, CallSite site);
  TensorFileLayout(const TensorFileLayout&) = delete;
  TensorFileLayout& operator=(const TensorFileLayout&) = delete;

  const std::vector<FilePart>& parts() const { return parts_; }

 private:
  std::string head_;
  std::vector<FilePart> parts_;
};

}  // namespace belfry::detail
