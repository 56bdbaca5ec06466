// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/broadcast.h"
#include "kernels/dispatch.h"
#include "kernels/families.h"

namespace belfry::kernels {

void run_binary(const KernelCall& call) {
  using element::BoolByte;
  const BinaryOp op = call.parameters.binary;
  if (call.outputs[0].dtype == DType::kBool) {
    if (op == BinaryOp::kMinimum) return combine<BinaryOp::kMinimum, BoolByte, BoolByte>(call);
    return combine<BinaryOp::kMaximum, BoolByte, BoolByte>(call);
  }
  visit_enum<BinaryOp::kMaximum>(op, [&](auto known) {
    visit_number<element::ignores_sign(known.kValue)>(call.outputs[0].dtype, [&](auto tag) {
      using T = typename decltype(tag)::Type;
      combine<known.kValue, T, T>(call);
    });
  });
}

}  // namespace belfry::kernels
