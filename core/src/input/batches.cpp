// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/batches.h"

#include "backend/part_of.h"
#include "belfry/detail/tensor/axis.h"
#include "belfry/error.h"

#include <span>
#include <string>

namespace belfry::detail {
namespace {

std::vector<std::int64_t> row_extents(const AnyTensor& tensor) {
  const std::span<const std::int64_t> extents = tensor.shape().extents();
  return {extents.begin() + 1, extents.end()};
}

// On the device of the first part, wherever the other parts are.
AnyTensor concatenate_rows(const std::vector<AnyTensor>& parts, CallSite site) {
  std::vector<AnyTensor> here;
  here.reserve(parts.size());
  for (const AnyTensor& part : parts) here.push_back(part.copy_to(parts.front().placement()));
  return launch_concatenate(here, Axis(0), site);
}

}  // namespace

AnyTensor stack_tensors(const std::vector<const AnyTensor*>& parts, CallSite site) {
  const AnyTensor& first = *parts.front();
  const auto own = first.shape().extents();
  std::vector<std::int64_t> extents(own.begin(), own.end());
  extents.insert(extents.begin(), 1);
  std::vector<AnyTensor> rows;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i]->empty() || parts[i]->shape() != first.shape()) {
      throw InvalidArgumentError(ErrorCode::kShape,
                                 "element " + std::to_string(i) + " of a batch has shape " +
                                     (parts[i]->empty() ? "none" : to_string(parts[i]->shape())) +
                                     ", those before it " + to_string(first.shape()),
                                 "a batch stacks tensors of one shape: pad them with map", site);
    }
    rows.push_back(parts[i]->reshaped(Shape(extents)));
  }
  return concatenate_rows(rows, site);
}

std::int64_t tensor_rows(const AnyTensor& tensor, CallSite site) {
  if (!tensor.empty() && tensor.shape().rank() > 0) return tensor.shape().extents().front();
  throw InvalidArgumentError(ErrorCode::kShape,
                             "a tensor " + to_string(tensor.shape()) + " is no batch",
                             "a batch has its examples along the first axis: call batch(n)", site);
}

AnyTensor slice_tensor(const AnyTensor& tensor, std::int64_t begin, std::int64_t count) {
  const std::int64_t rows = tensor.shape().extents().front();
  const std::int64_t row = rows == 0 ? 0 : tensor.shape().count() / rows;
  BufferView view = part_of(tensor.view(), static_cast<std::size_t>(begin * row),
                            static_cast<std::size_t>(count * row));
  return {std::move(view), with_extent(tensor.shape(), 0, count), tensor.placement()};
}

AnyTensor join_tensors(const AnyTensor& tensor, const AnyTensor& more, CallSite site) {
  tensor_rows(more, site);
  if (row_extents(tensor) != row_extents(more)) {
    throw InvalidArgumentError(ErrorCode::kShape,
                               "rows of shape " + to_string(Shape(row_extents(more))) +
                                   " follow rows of shape " +
                                   to_string(Shape(row_extents(tensor))) + " in one batch",
                               "all batches of a dataset have rows of one shape", site);
  }
  return concatenate_rows({tensor, more}, site);
}

void throw_keys_differ(CallSite site) {
  throw StructureMismatchError(ErrorCode::kStructure,
                               "rows under other keys follow those of a map in one batch",
                               "all batches of a dataset have the same keys", site);
}

void throw_rows_differ(std::int64_t rows, std::int64_t other, CallSite site) {
  throw StructureMismatchError(
      ErrorCode::kStructure,
      "parts of a batch have " + std::to_string(rows) + " and " + std::to_string(other) + " rows",
      "every part of a batch has a row for each example", site);
}

void throw_elements_differ(std::size_t element, CallSite site) {
  throw StructureMismatchError(ErrorCode::kStructure,
                               "element " + std::to_string(element) +
                                   " of a batch has another structure than those before it",
                               "maps that become one batch have the same keys", site);
}

}  // namespace belfry::detail
