// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/element_types.h"
#include "kernels/dispatch.h"
#include "kernels/families.h"

#include <algorithm>

namespace belfry::kernels {

void run_fill(const KernelCall& call) {
  const KernelOperand& out = call.outputs[0];
  visit_type(AllTypes{}, out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const KernelParameters& parameters = call.parameters;
    std::fill_n(elements_of<T>(out), out.count,
                element::scalar_element<T>(parameters.scalar, parameters.integer_scalar));
  });
}

}  // namespace belfry::kernels
