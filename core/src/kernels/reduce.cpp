// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/host_kernels.h"
#include "kernels/reduce_call.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry {
namespace kernels {
namespace {

template <class A>
A add(A left, A right) {
  return static_cast<A>(left + right);
}

// From replica `start` all the way round.
template <class T>
Sum<T> fold_from(const ReduceCall<T>& call, std::size_t start, std::size_t i) {
  const std::size_t n = call.inputs.size();
  auto sum = static_cast<Sum<T>>(call.inputs[start][i]);
  for (std::size_t step = 1; step < n; ++step) {
    const std::size_t k = start + step < n ? start + step : start + step - n;
    sum = add(sum, static_cast<Sum<T>>(call.inputs[k][i]));
  }
  return sum;
}

// Neighbours are added, then neighbouring sums, and further. A term without a neighbour waits.
template <class T>
Sum<T> fold_tree(const ReduceCall<T>& call, std::size_t i, std::vector<Sum<T>>& sums) {
  const std::size_t n = call.inputs.size();
  for (std::size_t k = 0; k < n; ++k) sums[k] = static_cast<Sum<T>>(call.inputs[k][i]);
  for (std::size_t reach = 1; reach < n; reach *= 2) {
    for (std::size_t k = 0; k + reach < n; k += 2 * reach) {
      sums[k] = add(sums[k], sums[k + reach]);
    }
  }
  return sums[0];
}

}  // namespace

template <class T>
void reduce_elements(const ReduceCall<T>& call, std::size_t first, std::size_t last) {
  if (first == last) return;  // Whole steps leave nothing, often, and divisions take long.
  const std::size_t n = call.inputs.size();
  const std::size_t chunk = ring_chunk(call.count, n);
  std::vector<Sum<T>> sums(call.order == ReductionOrder::kTree ? n : 0);
  for (std::size_t i = first; i < last; ++i) {
    Sum<T> sum = call.order == ReductionOrder::kTree   ? fold_tree(call, i, sums)
                 : call.order == ReductionOrder::kRing ? fold_from(call, i / chunk, i)
                                                       : fold_from(call, 0, i);
    if constexpr (element::kIsFloating<T>) {
      sum = element::canonical(call.mean ? sum / static_cast<Sum<T>>(n) : sum);
    }
    for (T* out : call.outputs) out[i] = static_cast<T>(sum);
  }
}

template void reduce_elements(const ReduceCall<float>&, std::size_t, std::size_t);
template void reduce_elements(const ReduceCall<double>&, std::size_t, std::size_t);
template void reduce_elements(const ReduceCall<Float16>&, std::size_t, std::size_t);
template void reduce_elements(const ReduceCall<BFloat16>&, std::size_t, std::size_t);
template void reduce_elements(const ReduceCall<std::uint8_t>&, std::size_t, std::size_t);
template void reduce_elements(const ReduceCall<std::uint16_t>&, std::size_t, std::size_t);
template void reduce_elements(const ReduceCall<std::uint32_t>&, std::size_t, std::size_t);
template void reduce_elements(const ReduceCall<std::uint64_t>&, std::size_t, std::size_t);

namespace {

// Distance of prefetches ahead of use, in bytes. Measured: with a greater distance more lines are
// in flight than the processor can hold.
constexpr std::size_t kAhead = 256;

// The distance if stores bypass the caches, are few, and the loads are many: the loads then take
// most of the time. Measured with one output: 4 and 8 inputs took 0.90 of the time, 2 inputs 1.2.
constexpr std::size_t kFarAhead = 1024;
constexpr std::size_t kManyInputs = 4;

// The size of the narrowest vector. Fewer bytes are reduced one by one, without vectors.
constexpr std::size_t kVectorBytes = 16;

// In bytes, 0 if the system does not tell.
std::size_t last_level_cache() {
#ifdef _SC_LEVEL3_CACHE_SIZE
  return static_cast<std::size_t>(std::max(::sysconf(_SC_LEVEL3_CACHE_SIZE), 0L));
#else
  return 0;
#endif
}

// For this machine.
const HostReduceTuning& tuning() {
  static const HostReduceTuning own = reduce_tuning_for(last_level_cache());
  return own;
}

std::size_t outputs_in_place(const KernelCall& call) {
  std::size_t found = 0;
  for (std::size_t k = 0; k < call.outputs.size() && k < call.inputs.size(); ++k) {
    if (call.outputs[k].data == call.inputs[k].data) ++found;
  }
  return found;
}

// The number of bytes from which inputs are prefetched. A reduction in place touches half as many
// places, and the processor itself fetches them while the cache holds the data. Few inputs keep the
// processor less busy.
template <class T>
std::size_t fetched_from(const ReduceCall<T>& call, const HostReduceTuning& tuning) {
  if (!call.in_place) return tuning.fetched_bytes;
  return call.inputs.size() < 8 ? tuning.non_temporal_bytes / 2 : tuning.non_temporal_bytes;
}

template <class T>
ReduceCall<T> typed(const KernelCall& call, const HostReduceTuning& tuning) {
  ReduceCall<T> typed;
  for (const KernelOperand& in : call.inputs)
    typed.inputs.push_back(static_cast<const T*>(in.data));
  for (const KernelOperand& out : call.outputs) typed.outputs.push_back(static_cast<T*>(out.data));
  typed.count = call.outputs[0].count;
  // Integers have the same sum in every order.
  if constexpr (element::kIsFloating<T>) typed.order = call.parameters.order;
  typed.mean = call.parameters.reduce == ReduceOp::kMean;
  const std::size_t bytes = (call.inputs.size() + call.outputs.size()) * typed.count * sizeof(T);
  const std::size_t in_place = outputs_in_place(call);
  typed.in_place = in_place == call.inputs.size() && in_place == call.outputs.size();
  // In place, the stored lines are in the cache already.
  typed.stream = in_place == 0 && bytes >= tuning.non_temporal_bytes;
  const bool loads_most =
      call.inputs.size() >= kManyInputs && call.outputs.size() < call.inputs.size();
  if (bytes >= fetched_from(typed, tuning)) {
    typed.ahead = typed.stream && loads_most ? kFarAhead : kAhead;
  }
  return typed;
}

template <class T>
void reduce(const KernelCall& call, const HostReduceTuning& tuning) {
  const ReduceCall<T> reduction = typed<T>(call, tuning);
  if (reduction.count * sizeof(T) < kVectorBytes) {
    reduce_elements(reduction, 0, reduction.count);
  } else {
    reduce_vectors(reduction, tuning.wide_vectors);
  }
}

}  // namespace
}  // namespace kernels

// If operands fit into the cache, stores that bypass the cache take up to twice as long. From 32
// MiB on such stores were faster, even with a cache of 480 MiB.
HostReduceTuning reduce_tuning_for(std::size_t bytes) {
  HostReduceTuning tuning;
  tuning.non_temporal_bytes =
      std::clamp(bytes, tuning.non_temporal_bytes, 4 * tuning.non_temporal_bytes);
  return tuning;
}

void reduce_on_host(const KernelCall& call) { reduce_on_host(call, kernels::tuning()); }

void reduce_on_host(const KernelCall& call, std::size_t bytes) {
  HostReduceTuning tuning = kernels::tuning();
  if (bytes >= tuning.non_temporal_bytes) tuning.non_temporal_bytes = 0;
  if (bytes >= tuning.fetched_bytes) tuning.fetched_bytes = 0;
  reduce_on_host(call, tuning);
}

void reduce_on_host(const KernelCall& call, const HostReduceTuning& tuning) {
  using namespace kernels;
  if (!detail::is_additive(call.parameters.reduce)) return reduce_by_steps(call);
  switch (call.outputs[0].dtype) {
    case DType::kFloat32:
      return reduce<float>(call, tuning);
    case DType::kFloat64:
      return reduce<double>(call, tuning);
    case DType::kFloat16:
      return reduce<Float16>(call, tuning);
    case DType::kBFloat16:
      return reduce<BFloat16>(call, tuning);
    default:
      break;
  }
  // Sums of integers are the same bits whether signed or not.
  switch (size_of(call.outputs[0].dtype)) {
    case 1:
      return reduce<std::uint8_t>(call, tuning);
    case 2:
      return reduce<std::uint16_t>(call, tuning);
    case 4:
      return reduce<std::uint32_t>(call, tuning);
    default:
      return reduce<std::uint64_t>(call, tuning);
  }
}

}  // namespace belfry
