// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/update_rules.h"
#include "dispatch.cuh"
#include "families.h"

#include <cstdint>
#include <memory>

// Kernels on many tensors. All addresses are kernel parameters: nothing is copied or allocated
// before the kernel. A block works on one tensor, and finds the tensor by its own number.
namespace belfry::cuda::kernels {
namespace {

// The parameters of a kernel: 32,764 bytes since CUDA 12.1, on GPUs since Volta.
#if CUDART_VERSION >= 12010
constexpr std::size_t kParameterBytes = 32764;
#else
constexpr std::size_t kParameterBytes = 4096;
#endif
constexpr std::size_t kElementsPerThread = 4;
constexpr std::size_t kMostBlocksOfItem = 1024;

// The tensors that a kernel changes and reads together.
template <std::size_t kOutputs>
struct Item {
  void* outputs[kOutputs];
  const void* input;
  std::size_t count;
};

template <std::size_t kOutputs>
constexpr std::size_t kMostItems =
    (kParameterBytes - 256) / (sizeof(Item<kOutputs>) + sizeof(unsigned));

template <std::size_t kOutputs>
struct Items {
  Item<kOutputs> items[kMostItems<kOutputs>];
  unsigned ends[kMostItems<kOutputs>];  // The first block behind the blocks of each item.
  unsigned size;
};

// Calls `work(item, i)` for the elements i of this thread.
template <std::size_t kOutputs, class Work>
__device__ void for_own_elements(const Items<kOutputs>& all, const Work& work) {
  unsigned low = 0;
  for (unsigned high = all.size - 1; low < high;) {
    const unsigned middle = (low + high) / 2;
    if (blockIdx.x < all.ends[middle]) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  const Item<kOutputs>& item = all.items[low];
  const unsigned first = low == 0 ? 0 : all.ends[low - 1];
  const std::size_t step = std::size_t{all.ends[low] - first} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x - first} * blockDim.x + threadIdx.x; i < item.count;
       i += step) {
    work(item, i);
  }
}

template <UpdateRule rule, class T>
__global__ void update_items(const __grid_constant__ Items<1 + slots_of(rule)> all,
                             const element::UpdateFactors<T> factors) {
  constexpr std::size_t kSlots = slots_of(rule);
  for_own_elements(all, [&](const auto& item, std::size_t i) {
    T* const weight = static_cast<T*>(item.outputs[0]) + i;
    T slots[kSlots == 0 ? 1 : kSlots]{};
    for (std::size_t s = 0; s < kSlots; ++s) slots[s] = static_cast<T*>(item.outputs[1 + s])[i];
    T changed = *weight;
    element::update<rule>(factors, changed, slots, static_cast<const T*>(item.input)[i]);
    *weight = changed;
    for (std::size_t s = 0; s < kSlots; ++s) static_cast<T*>(item.outputs[1 + s])[i] = slots[s];
  });
}

// Copies of elements of `Word`, for items whose counts are in words.
template <class Word>
__global__ void copy_words(const __grid_constant__ Items<1> all) {
  for_own_elements(all, [](const auto& item, std::size_t i) {
    static_cast<Word*>(item.outputs[0])[i] = static_cast<const Word*>(item.input)[i];
  });
}

unsigned blocks_of_item(std::size_t count) {
  constexpr std::size_t kPerBlock = kThreads * kElementsPerThread;
  return static_cast<unsigned>(std::min((count + kPerBlock - 1) / kPerBlock, kMostBlocksOfItem));
}

// Calls `launch(items, blocks)` for the tensors of a call, as often as their addresses need.
// `count_of(k)` is the number of elements, or words, of input k.
template <std::size_t kOutputs, class CountOf, class Launch>
void in_launches(const KernelCall& call, const CountOf& count_of, const Launch& launch) {
  const auto memory = std::make_unique<Items<kOutputs>>();  // Too large for the stack of a replica.
  Items<kOutputs>& all = *memory;
  all.size = 0;
  unsigned blocks = 0;
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    const std::size_t count = count_of(k);
    if (count == 0) continue;
    Item<kOutputs>& item = all.items[all.size];
    for (std::size_t o = 0; o < kOutputs; ++o) {
      item.outputs[o] = call.outputs[k * kOutputs + o].data;
    }
    item.input = call.inputs[k].data;
    item.count = count;
    blocks += blocks_of_item(count);
    all.ends[all.size++] = blocks;
    if (all.size == kMostItems<kOutputs>) {
      launch(all, blocks);
      all.size = 0;
      blocks = 0;
    }
  }
  if (all.size != 0) launch(all, blocks);
}

// A launch `<<<...>>>` would copy the parameters to the stack. The caller asks for the error.
template <class K>
void launch_with(K* kernel, unsigned blocks, void** arguments, cudaStream_t stream) {
  static_cast<void>(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks),
                                     dim3(kThreads), arguments, 0, stream));
}

template <UpdateRule rule, class T>
void launch_rule(const KernelCall& call, cudaStream_t stream) {
  const auto factors = element::UpdateFactors<T>::of(call.parameters);
  in_launches<1 + slots_of(rule)>(
      call, [&](std::size_t k) { return call.inputs[k].count; },
      [&](auto& items, unsigned blocks) {
        auto own_factors = factors;
        void* arguments[] = {&items, &own_factors};
        launch_with(&update_items<rule, T>, blocks, arguments, stream);
      });
}

// Whether all tensors of a call are aligned to words, and as long as whole words.
bool in_words(const KernelCall& call, std::size_t word) {
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    const auto in = reinterpret_cast<std::uintptr_t>(call.inputs[k].data);
    const auto out = reinterpret_cast<std::uintptr_t>(call.outputs[k].data);
    const std::size_t bytes = call.inputs[k].count * size_of(call.inputs[k].dtype);
    if (((in | out | bytes) & (word - 1)) != 0) return false;
  }
  return true;
}

template <class Word>
void launch_words(const KernelCall& call, cudaStream_t stream) {
  in_launches<1>(
      call,
      [&](std::size_t k) {
        return call.inputs[k].count * size_of(call.inputs[k].dtype) / sizeof(Word);
      },
      [&](auto& items, unsigned blocks) {
        void* arguments[] = {&items};
        launch_with(&copy_words<Word>, blocks, arguments, stream);
      });
}

}  // namespace

void launch_fused_update(const KernelCall& call, cudaStream_t stream) {
  visit_type(FloatingTypes{}, call.outputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    switch (call.parameters.update) {
      case UpdateRule::kPlain:
        return launch_rule<UpdateRule::kPlain, T>(call, stream);
      case UpdateRule::kMomentum:
        return launch_rule<UpdateRule::kMomentum, T>(call, stream);
      case UpdateRule::kAdam:
        return launch_rule<UpdateRule::kAdam, T>(call, stream);
    }
  });
}

void launch_copy_each(const KernelCall& call, cudaStream_t stream) {
  if (in_words(call, 16)) return launch_words<uint4>(call, stream);
  if (in_words(call, 4)) return launch_words<std::uint32_t>(call, stream);
  if (in_words(call, 2)) return launch_words<std::uint16_t>(call, stream);
  launch_words<std::uint8_t>(call, stream);
}

}  // namespace belfry::cuda::kernels
