// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/element_ops.h"
#include "kernels/dispatch.h"
#include "kernels/families.h"

#include <cstddef>

namespace belfry::kernels {
namespace {

template <UnaryOp op, class T>
void apply_all(T* out, const T* in, std::size_t count, element::Compute<T> scalar) {
  BELFRY_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = element::store<T>(element::apply<op>(element::load(in[i]), scalar));
  }
}

}  // namespace

void run_unary(const KernelCall& call) {
  const KernelOperand& out = call.outputs[0];
  const KernelParameters& parameters = call.parameters;
  visit_enum<UnaryOp::kShift>(parameters.unary, [&](auto op) {
    visit_number<element::ignores_sign(op.kValue)>(out.dtype, [&](auto tag) {
      using T = typename decltype(tag)::Type;
      if constexpr (element::supports(op.kValue, element::dtype_in_memory<T>())) {
        apply_all<op.kValue>(
            elements_of<T>(out), elements_of<const T>(call.inputs[0]), out.count,
            element::scalar_operand<T>(parameters.scalar, parameters.integer_scalar));
      }
    });
  });
}

}  // namespace belfry::kernels
