// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/broadcast.h"
#include "kernels/dispatch.h"
#include "kernels/families.h"

namespace belfry::kernels {

void run_compare(const KernelCall& call) {
  using element::BoolByte;
  const DType dtype = call.inputs[0].dtype;
  visit_enum<CompareOp::kGreaterEqual>(call.parameters.compare, [&](auto op) {
    if (dtype == DType::kBool) return combine<op.kValue, BoolByte, BoolByte>(call);
    visit_number<element::ignores_sign(op.kValue)>(
        dtype, [&](auto tag) { combine<op.kValue, BoolByte, typename decltype(tag)::Type>(call); });
  });
}

}  // namespace belfry::kernels
