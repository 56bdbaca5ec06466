// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/random_numbers.h"
#include "kernels/dispatch.h"
#include "kernels/families.h"

#include <cstddef>
#include <cstdint>

namespace belfry::kernels {
namespace {

template <Distribution distribution, class T>
T draw(const element::RandomBlock& block, int index) {
  if constexpr (distribution == Distribution::kUniform) return element::uniform<T>(block, index);
  if constexpr (distribution == Distribution::kNormal) return element::normal<T>(block, index);
  if constexpr (distribution == Distribution::kBits) return element::random_bits<T>(block, index);
}

template <Distribution distribution, class T>
void draw_all(const KernelCall& call) {
  constexpr auto kDraws = static_cast<std::uint64_t>(element::kDrawsPerBlock<T>);
  auto* out = elements_of<T>(call.outputs[0]);
  const std::size_t count = call.outputs[0].count;
  const std::uint64_t offset = call.parameters.offset;
  std::size_t i = 0;
  while (i < count) {
    const std::uint64_t number = offset + i;
    const element::RandomBlock block = element::random_block(
        call.parameters.seed, number / kDraws, static_cast<std::uint32_t>(distribution));
    for (auto index = static_cast<int>(number % kDraws);
         index < static_cast<int>(kDraws) && i < count; ++index, ++i) {
      out[i] = draw<distribution, T>(block, index);
    }
  }
}

}  // namespace

void run_random(const KernelCall& call) {
  const DType dtype = call.outputs[0].dtype;
  const Distribution distribution = call.parameters.distribution;
  if (distribution == Distribution::kBits) {
    visit_type(UnsignedTypes{}, element::unsigned_of(dtype), [&](auto tag) {
      draw_all<Distribution::kBits, typename decltype(tag)::Type>(call);
    });
  } else if (distribution == Distribution::kNormal) {
    visit_type(FloatingTypes{}, dtype, [&](auto tag) {
      draw_all<Distribution::kNormal, typename decltype(tag)::Type>(call);
    });
  } else {
    visit_type(FloatingTypes{}, dtype, [&](auto tag) {
      draw_all<Distribution::kUniform, typename decltype(tag)::Type>(call);
    });
  }
}

}  // namespace belfry::kernels
