// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/variable_state.h"
#include "belfry/dtype.h"
#include "belfry/shape.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry::detail {

/// The rows `begin` to before `end` of a sharded variable.
struct ShardRows {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t count() const { return end - begin; }
};

/// How the rows of a sharded variable are shared out. In the elements of the whole, row-major, a
/// line is the smallest piece that belongs to one row: the elements with the same indices up to
/// the axis. The lines of a replica are in the same order in the replica's part.
struct ShardPlan {
  DType dtype = DType::kFloat32;
  Shape whole{};
  int axis = 0;
  int replicas = 1;
  std::vector<ShardRows> own{};  ///< By component of this process.

  /// The rows of a replica: rows / replicas, and one row more for each of the first replicas.
  ShardRows rows(int replica) const;
  Shape shape_of(const ShardRows& rows) const;
  std::size_t line_bytes() const;
  std::int64_t lines() const;  ///< 0 for a variable without elements.
  /// How many of the first `line` lines of the whole belong to `rows`.
  std::int64_t lines_before(const ShardRows& rows, std::int64_t line) const;
  /// Calls `fn(line, count)` for each run of neighbouring lines of `rows` among the lines `begin`
  /// to before `end` of the whole, in order.
  void each_run(const ShardRows& rows, std::int64_t begin, std::int64_t end,
                FunctionRef<void(std::int64_t, std::int64_t)> fn) const;
};

/// Throws: InvalidArgumentError (kShape) unless `part` has the shape of the component,
/// (kInvalidArgument) for a default-constructed tensor.
void require_rows_of(const VariableInfo& info, int component, const AnyTensor& part, CallSite site);
/// Prepares a tensor for the place of a component: on the device of the component, and without
/// memory for more than the part. Order: copies are enqueued. Throws: as require_rows_of;
/// DeviceError (kOutOfMemory).
void fit_rows(const VariableInfo& info, int component, AnyTensor& part, CallSite site);
/// The same without the check.
void keep_rows_alone(AnyTensor& part, const Placement& place);

/// Throws: UnsupportedError: processes that listen have no rows of sharded variables.
void require_rows_of_all(const VariableInfo& info, const Shape& joined, CallSite site);
/// The axis along which the variable is shared out.
int shard_axis(const VariableInfo& info);

}  // namespace belfry::detail
