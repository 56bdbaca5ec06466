// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/random_numbers.h"
#include "dispatch.cuh"
#include "families.h"

namespace belfry::cuda::kernels {
namespace {

struct Sequence {
  std::uint64_t seed;
  std::uint64_t offset;
  std::size_t count;
};

template <Distribution distribution, class T>
__device__ T draw(const element::RandomBlock& block, int index) {
  if constexpr (distribution == Distribution::kUniform) {
    return element::uniform<T>(block, index);
  } else if constexpr (distribution == Distribution::kNormal) {
    return element::normal<T>(block, index);
  } else {
    return element::random_bits<T>(block, index);
  }
}

// A thread computes a block of the generator and writes the requested draws. Blocks are counted
// from the first requested block: the numbers of draws wrap from 2^64 - 1 to 0.
template <Distribution distribution, class T>
__global__ void random(T* out, Sequence sequence) {
  constexpr auto kDraws = static_cast<std::uint64_t>(element::kDrawsPerBlock<T>);
  static_assert((kDraws & (kDraws - 1)) == 0, "a block would reach over the end of the numbers");
  const std::uint64_t skipped = sequence.offset % kDraws;  // Of the first block.
  const std::uint64_t blocks = (skipped + sequence.count - 1) / kDraws + 1;
  for (std::uint64_t at = place_in_grid(); at < blocks; at += threads_in_grid()) {
    const element::RandomBlock block =
        element::random_block(sequence.seed, (sequence.offset + at * kDraws) / kDraws,
                              static_cast<std::uint32_t>(distribution));
    for (int index = 0; index < static_cast<int>(kDraws); ++index) {
      const std::uint64_t place = at * kDraws + static_cast<std::uint64_t>(index);
      if (place < skipped) continue;
      const std::uint64_t i = place - skipped;
      if (i < sequence.count) out[i] = draw<distribution, T>(block, index);
    }
  }
}

template <Distribution distribution, class T>
void launch_draws(const KernelCall& call, cudaStream_t stream) {
  const KernelOperand& out = call.outputs[0];
  const std::size_t generator_blocks = out.count / element::kDrawsPerBlock<T> + 2;
  random<distribution><<<blocks_for(generator_blocks), kThreads, 0, stream>>>(
      elements_of<T>(out), Sequence{call.parameters.seed, call.parameters.offset, out.count});
}

}  // namespace

void launch_random(const KernelCall& call, cudaStream_t stream) {
  const KernelOperand& out = call.outputs[0];
  if (out.count == 0) return;
  switch (call.parameters.distribution) {
    case Distribution::kUniform:
      return visit_type(FloatingTypes{}, out.dtype, [&](auto tag) {
        launch_draws<Distribution::kUniform, typename decltype(tag)::Type>(call, stream);
      });
    case Distribution::kNormal:
      return visit_type(FloatingTypes{}, out.dtype, [&](auto tag) {
        launch_draws<Distribution::kNormal, typename decltype(tag)::Type>(call, stream);
      });
    case Distribution::kBits:
      return visit_type(UnsignedTypes{}, element::unsigned_of(out.dtype), [&](auto tag) {
        launch_draws<Distribution::kBits, typename decltype(tag)::Type>(call, stream);
      });
  }
}

}  // namespace belfry::cuda::kernels
