// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/access_order.h"
#include "backend/part_of.h"
#include "belfry/backend/current_slot.h"
#include "belfry/backend/device.h"
#include "belfry/detail/tensor/axis.h"
#include "belfry/detail/tensor_launch.h"
#include "values/tensor_operands.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>

// A tensor and an axis are seen as outer x extent x inner: the axes before the axis, the axis, and
// the axes after. The elements with the same outer and axis index lie together, `inner` elements,
// and are moved as a row.
namespace belfry::detail {
namespace {

struct Blocks {
  std::int64_t outer = 1;
  std::int64_t inner = 1;
};

Blocks blocks_of(const Shape& shape, int axis) {
  return {extents_product(shape, 0, axis), extents_product(shape, axis + 1, shape.rank())};
}

// A type of the same width for which a kernel moves rows. All bits are kept.
DType carrier_of(DType dtype) {
  switch (size_of(dtype)) {
    case 1:
      return DType::kUInt8;
    case 2:
      return DType::kFloat16;
    case 4:
      return DType::kInt32;
    default:
      return DType::kInt64;
  }
}

AnyTensor seen_as(const AnyTensor& x, DType dtype, Shape shape) {
  BufferView view = x.view();
  view.dtype = dtype;
  return {std::move(view), std::move(shape), x.placement()};
}

// Rows of `inner` elements of `table`, in the order of `rows`, as `shape`.
AnyTensor pick_rows(const AnyTensor& table, std::int64_t inner,
                    const std::vector<std::int64_t>& rows, Shape shape, CallSite site) {
  const SiteScope scope(site);
  if (shape.count() == 0) {
    return AnyTensor::allocate(table.dtype(), std::move(shape), table.placement());
  }
  const AnyTensor index = AnyTensor::from_host(
      DType::kInt64, Shape{static_cast<std::int64_t>(rows.size())}, rows.data(), table.placement());
  const Shape matrix{table.shape().count() / inner, inner};
  const AnyTensor picked =
      launch_gather_rows(seen_as(table, carrier_of(table.dtype()), matrix), index, site);
  return seen_as(picked, table.dtype(), std::move(shape));
}

void require_joinable(const std::vector<AnyTensor>& parts, int axis, CallSite site) {
  const TensorCall call{"concatenate", site};
  for (const AnyTensor& part : parts) {
    require_storage(call, part);
    require_same_type(call, parts.front(), part);
    require_same_device(call, parts.front(), part);
    if (part.shape().rank() != parts.front().shape().rank() ||
        with_extent(part.shape(), axis, 0) != with_extent(parts.front().shape(), axis, 0)) {
      throw_shapes(call, parts.front().shape(), part.shape(),
                   "all extents but that of axis " + std::to_string(axis) + " must be equal");
    }
  }
}

}  // namespace

int axis_of(const Shape& shape, Axis axis, std::string_view what, CallSite site) {
  const int number = axis.value < 0 ? axis.value + shape.rank() : axis.value;
  if (number >= 0 && number < shape.rank()) return number;
  throw InvalidArgumentError(ErrorCode::kShape,
                             std::string(what) + " along axis " + std::to_string(axis.value) +
                                 " of a value " + to_string(shape),
                             "a value of rank " + std::to_string(shape.rank()) +
                                 (shape.rank() == 0 ? " has no axis" : " has the axes 0 to ") +
                                 (shape.rank() == 0 ? "" : std::to_string(shape.rank() - 1)),
                             site);
}

std::int64_t extents_product(const Shape& shape, int begin, int end) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t product = 1;
  for (int axis = begin; axis < end; ++axis) {
    const std::int64_t extent = shape.extents()[static_cast<std::size_t>(axis)];
    product = extent != 0 && product > kMost / extent ? kMost : product * extent;
  }
  return product;
}

Shape with_extent(const Shape& shape, int axis, std::int64_t extent) {
  const auto own = shape.extents();
  std::vector<std::int64_t> extents(own.begin(), own.end());
  extents[static_cast<std::size_t>(axis)] = extent;
  return Shape(std::move(extents));
}

Shape without_axis(const Shape& shape, int axis) {
  const auto own = shape.extents();
  std::vector<std::int64_t> extents(own.begin(), own.end());
  extents.erase(extents.begin() + axis);
  return Shape(std::move(extents));
}

AnyTensor flatten_all(const std::vector<AnyTensor>& parts) {
  std::int64_t total = 0;
  for (const AnyTensor& part : parts) total += part.shape().count();
  const Placement& here = parts.front().placement();
  AnyTensor all = AnyTensor::allocate(parts.front().dtype(), Shape{total}, here);
  BufferView slot = all.view();
  for (const AnyTensor& part : parts) {
    if (part.view().count == 0) continue;
    slot.count = part.view().count;
    copy_in_order(device_of(here).compute_stream(), slot, part.view());
    slot.offset += slot.bytes();
  }
  return all;
}

AnyTensor join(const AnyTensor& flat, const Shape& shape, int axis,
               const std::vector<std::int64_t>& extents, CallSite site) {
  const Blocks blocks = blocks_of(shape, axis);
  std::int64_t total = 0;
  for (std::int64_t extent : extents) total += extent;
  Shape joined = with_extent(shape, axis, total);
  if (blocks.outer <= 1 || joined.count() == 0) return flat.reshaped(std::move(joined), site);
  std::vector<std::int64_t> rows;
  rows.reserve(static_cast<std::size_t>(blocks.outer * total));
  for (std::int64_t outer = 0; outer < blocks.outer; ++outer) {
    std::int64_t before = 0;  // Rows of the parts that come earlier in `flat`.
    for (std::int64_t extent : extents) {
      for (std::int64_t i = 0; i < extent; ++i) rows.push_back(before + outer * extent + i);
      before += blocks.outer * extent;
    }
  }
  return pick_rows(flat, blocks.inner, rows, std::move(joined), site);
}

AnyTensor split(const AnyTensor& x, int axis, const std::vector<std::int64_t>& begins,
                CallSite site) {
  const Blocks blocks = blocks_of(x.shape(), axis);
  const Shape flat{x.shape().count()};
  if (blocks.outer <= 1 || flat.count() == 0) return x.reshaped(flat, site);
  const std::int64_t extent = x.shape().extent(axis);
  std::vector<std::int64_t> rows;
  rows.reserve(static_cast<std::size_t>(blocks.outer * extent));
  for (std::size_t part = 0; part + 1 < begins.size(); ++part) {
    for (std::int64_t outer = 0; outer < blocks.outer; ++outer) {
      for (std::int64_t i = begins[part]; i < begins[part + 1]; ++i) {
        rows.push_back(outer * extent + i);
      }
    }
  }
  return pick_rows(x, blocks.inner, rows, flat, site);
}

AnyTensor launch_concatenate(const std::vector<AnyTensor>& parts, Axis axis, CallSite site) {
  const SiteScope scope(site);
  if (parts.empty()) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument, "concatenate of no tensors",
                               "their element type and shape would be unknown", site);
  }
  require_storage({"concatenate", site}, parts.front());
  const Shape& shape = parts.front().shape();
  const int number = axis_of(shape, axis, "concatenate", site);
  require_joinable(parts, number, site);
  std::vector<std::int64_t> extents;
  extents.reserve(parts.size());
  for (const AnyTensor& part : parts) extents.push_back(part.shape().extent(number));
  return join(flatten_all(parts), shape, number, extents, site);
}

AnyTensor launch_slice(const AnyTensor& x, int axis, std::int64_t begin, std::int64_t end,
                       CallSite site) {
  require_storage({"slice", site}, x);
  const std::int64_t extent = x.shape().extent(axis);
  if (begin < 0 || begin > end || end > extent) {
    throw InvalidArgumentError(ErrorCode::kShape,
                               "slice " + std::to_string(begin) + " to " + std::to_string(end) +
                                   " of an axis of " + std::to_string(extent),
                               "0 <= begin <= end <= the extent", site);
  }
  const Blocks blocks = blocks_of(x.shape(), axis);
  Shape shape = with_extent(x.shape(), axis, end - begin);
  if (blocks.outer == 1) {
    BufferView view = part_of(x.view(), static_cast<std::size_t>(begin * blocks.inner),
                              static_cast<std::size_t>(shape.count()));
    return {std::move(view), std::move(shape), x.placement()};
  }
  std::vector<std::int64_t> rows;
  for (std::int64_t outer = 0; shape.count() != 0 && outer < blocks.outer; ++outer) {
    for (std::int64_t i = begin; i < end; ++i) rows.push_back(outer * extent + i);
  }
  return pick_rows(x, blocks.inner, rows, std::move(shape), site);
}

AnyTensor launch_axis_fold(FoldOp op, const AnyTensor& x, int axis, std::string_view what,
                           CallSite site) {
  const SiteScope scope(site);
  require_storage({what, site}, x);
  const Blocks blocks = blocks_of(x.shape(), axis);
  const std::int64_t extent = x.shape().extent(axis);
  Shape shape = without_axis(x.shape(), axis);
  if (blocks.inner == 1) {
    const AnyTensor matrix = x.reshaped({blocks.outer, extent}, site);
    return fold_matrix(op, true, matrix, {what, site}).reshaped(std::move(shape), site);
  }
  AnyTensor columns = x;
  if (blocks.outer != 1 && x.shape().count() != 0) {
    // Reorders to extent x outer x inner: the axis is first.
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < extent; ++i) {
      for (std::int64_t outer = 0; outer < blocks.outer; ++outer) {
        rows.push_back(outer * extent + i);
      }
    }
    columns = pick_rows(x, blocks.inner, rows, x.shape(), site);
  }
  const AnyTensor matrix = columns.reshaped({extent, blocks.outer * blocks.inner}, site);
  return fold_matrix(op, false, matrix, {what, site}).reshaped(std::move(shape), site);
}

}  // namespace belfry::detail
