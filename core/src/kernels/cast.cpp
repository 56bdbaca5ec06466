// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/element_types.h"
#include "kernels/dispatch.h"
#include "kernels/families.h"

#include <cstddef>

namespace belfry::kernels {
namespace {

template <class To, class From>
void cast_all(To* out, const From* in, std::size_t count) {
  BELFRY_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < count; ++i) out[i] = element::cast<To>(in[i]);
}

}  // namespace

void run_cast(const KernelCall& call) {
  const KernelOperand& out = call.outputs[0];
  const KernelOperand& in = call.inputs[0];
  visit_type(AllTypes{}, out.dtype, [&](auto to) {
    using To = typename decltype(to)::Type;
    visit_type(AllTypes{}, in.dtype, [&](auto from) {
      using From = typename decltype(from)::Type;
      cast_all(elements_of<To>(out), elements_of<const From>(in), in.count);
    });
  });
}

}  // namespace belfry::kernels
