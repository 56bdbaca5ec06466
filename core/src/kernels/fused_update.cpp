// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/update_rules.h"
#include "kernels/dispatch.h"
#include "kernels/families.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace belfry::kernels {
namespace {

template <UpdateRule rule, class T>
void update_tensor(const element::UpdateFactors<T>& factors, const KernelOperand* outputs,
                   const KernelOperand& input) {
  constexpr std::size_t kSlots = slots_of(rule);
  T* const weight = elements_of<T>(outputs[0]);
  const T* const gradient = elements_of<const T>(input);
  T* slots[std::max<std::size_t>(kSlots, 1)]{};
  for (std::size_t s = 0; s < kSlots; ++s) slots[s] = elements_of<T>(outputs[1 + s]);
  BELFRY_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < input.count; ++i) {
    T own[std::max<std::size_t>(kSlots, 1)]{};
    for (std::size_t s = 0; s < kSlots; ++s) own[s] = slots[s][i];
    element::update<rule>(factors, weight[i], own, gradient[i]);
    for (std::size_t s = 0; s < kSlots; ++s) slots[s][i] = own[s];
  }
}

}  // namespace

void run_fused_update(const KernelCall& call) {
  visit_enum<UpdateRule::kAdam>(call.parameters.update, [&](auto rule) {
    visit_type(FloatingTypes{}, call.outputs[0].dtype, [&](auto tag) {
      using T = typename decltype(tag)::Type;
      const auto factors = element::UpdateFactors<T>::of(call.parameters);
      for (std::size_t k = 0; k < call.inputs.size(); ++k) {
        update_tensor<rule.kValue, T>(factors, &call.outputs[k * (1 + slots_of(rule.kValue))],
                                      call.inputs[k]);
      }
    });
  });
}

void run_copy_each(const KernelCall& call) {
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    const std::size_t bytes = call.inputs[k].count * size_of(call.inputs[k].dtype);
    if (bytes != 0) std::memcpy(call.outputs[k].data, call.inputs[k].data, bytes);
  }
}

}  // namespace belfry::kernels
