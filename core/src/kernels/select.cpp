// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/dispatch.h"
#include "kernels/families.h"

#include <cstddef>
#include <cstdint>

namespace belfry::kernels {
namespace {

// Elements are copied as bits: only the size of the type matters.
template <class Word>
void select_all(const KernelCall& call) {
  auto* out = elements_of<Word>(call.outputs[0]);
  const auto* condition = elements_of<const std::uint8_t>(call.inputs[0]);
  const auto* left = elements_of<const Word>(call.inputs[1]);
  const auto* right = elements_of<const Word>(call.inputs[2]);
  const std::size_t count = call.outputs[0].count;
  BELFRY_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < count; ++i) out[i] = condition[i] != 0 ? left[i] : right[i];
}

}  // namespace

void run_select(const KernelCall& call) {
  switch (size_of(call.outputs[0].dtype)) {
    case 1:
      return select_all<std::uint8_t>(call);
    case 2:
      return select_all<std::uint16_t>(call);
    case 4:
      return select_all<std::uint32_t>(call);
    default:
      return select_all<std::uint64_t>(call);
  }
}

}  // namespace belfry::kernels
