// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/element_ops.h"
#include "kernels/dispatch.h"

#include <utility>

namespace belfry::kernels {

/// Calls `function` with the type and the operation of a row or column fold.
template <class Function>
void visit_fold(const KernelCall& call, Function&& function) {
  if (call.outputs[0].dtype == DType::kBool) {
    const Tag<element::BoolByte> tag;
    if (call.parameters.fold == FoldOp::kMaximum) {
      function(tag, Constant<FoldOp::kMaximum>{});
    } else {
      function(tag, Constant<FoldOp::kMinimum>{});
    }
    return;
  }
  visit_enum<FoldOp::kProduct>(call.parameters.fold, [&](auto op) {
    visit_number<element::ignores_sign(op.kValue)>(call.outputs[0].dtype,
                                                   [&](auto tag) { function(tag, op); });
  });
}

}  // namespace belfry::kernels
