// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel.h"
#include "belfry/tensor.h"

#include <string>
#include <string_view>

namespace belfry::detail {

/// The call an operand belongs to, for messages.
struct TensorCall {
  std::string_view what;
  CallSite site;
};

/// Called for each operand of each verb: also reports the read of the handle (host_accesses.h).
/// Throws: InvalidArgumentError (kInvalidArgument) for a tensor without storage.
void require_storage(const TensorCall& call, const AnyTensor& x);
/// Throws: InvalidArgumentError (kDType) for bool.
void require_arithmetic(const TensorCall& call, DType dtype);
/// Throws: InvalidArgumentError (kDType) when the element types differ.
void require_same_type(const TensorCall& call, const AnyTensor& left, const AnyTensor& right);
/// Throws: InvalidArgumentError (kForeignObject) when two operands are on different devices.
void require_same_device(const TensorCall& call, const AnyTensor& left, const AnyTensor& right);
/// Throws: InvalidArgumentError (kShape) unless `x` is a matrix.
void require_matrix(const TensorCall& call, const AnyTensor& x);
[[noreturn]] void throw_shapes(const TensorCall& call, const Shape& left, const Shape& right,
                               std::string hint);

/// The relation of the right operand of an elementwise kernel to the left operand.
struct Fit {
  Broadcast broadcast = Broadcast::kNone;
  std::int64_t rows = 1;
  std::int64_t columns = 0;
};

/// Throws: InvalidArgumentError (kShape).
Fit fit(const TensorCall& call, const Shape& left, const Shape& right);

/// Folds the rows of a matrix, or its columns. The fold of no elements is the neutral element.
/// Throws: InvalidArgumentError (kDType) for sums and products of bool.
AnyTensor fold_matrix(FoldOp op, bool rows, const AnyTensor& x, const TensorCall& call);

/// Launches on the compute stream. Does nothing if all outputs are empty.
void launch(const Placement& placement, Kernel kernel);

}  // namespace belfry::detail
