// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/broadcast.h"
#include "kernels/dispatch.h"
#include "kernels/families.h"

namespace belfry::kernels {
namespace {

using ComparedTypes = TypeList<float, double, Float16, BFloat16, std::int8_t, std::int32_t,
                               std::int64_t, std::uint8_t, element::BoolByte>;

}  // namespace

void run_compare(const KernelCall& call) {
  visit_type(ComparedTypes{}, call.inputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    visit_enum<CompareOp::kGreaterEqual>(
        call.parameters.compare, [&](auto op) { combine<op.kValue, element::BoolByte, T>(call); });
  });
}

}  // namespace belfry::kernels
