// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <cstdint>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "kernels/reduce_call.h"
#include "kernels/reduce_loops.h"

namespace belfry::kernels {
namespace {

std::size_t line_offset(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % kLineBytes;
}

/// The number of elements before all outputs begin at a cache line. Turns streaming off without
/// such a number.
template <class T>
std::size_t align_streams(const ReduceCall<T>& call, bool& stream) {
  if (!stream) return 0;
  const std::size_t offset = line_offset(call.outputs[0]);
  for (T* out : call.outputs) stream = stream && line_offset(out) == offset;
  stream = stream && offset % sizeof(T) == 0;
  if (!stream) return 0;
  return std::min(call.count, (kLineBytes - offset) % kLineBytes / sizeof(T));
}

/// Makes stores that bypassed the caches visible before later stores.
void end_streams() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// Any order but a ring's.
template <class T>
void reduce_whole(const ReduceCall<T>& call, ReduceLoop<T> loop) {
  bool stream = call.stream;
  const std::size_t head = align_streams(call, stream);
  reduce_elements(call, 0, head);
  reduce_elements(call, loop(call, head, stream), call.count);
  if (stream) end_streams();
}

// Each chunk of a ring is in replica order, starting at the chunk's replica.
template <class T>
void reduce_ring(const ReduceCall<T>& call, ReduceLoop<T> loop) {
  const std::size_t n = call.inputs.size();
  const std::size_t chunk = ring_chunk(call.count, n);
  ReduceCall<T> part = call;
  part.order = ReductionOrder::kReplicaOrder;
  part.in_place = false;  // Inputs are rotated, and differ from their outputs.
  for (std::size_t c = 0, first = 0; first < call.count; ++c, first += chunk) {
    part.count = std::min(chunk, call.count - first);
    for (std::size_t k = 0; k < n; ++k) {
      part.inputs[k] = call.inputs[c + k < n ? c + k : c + k - n] + first;
    }
    for (std::size_t k = 0; k < call.outputs.size(); ++k) part.outputs[k] = call.outputs[k] + first;
    reduce_whole(part, loop);
  }
}

}  // namespace

template <class T>
void reduce_vectors(const ReduceCall<T>& call, bool wide) {
  const ReduceLoop<T> loop = wide && has_wide_vectors() ? reduce_wide<T> : reduce_baseline<T>;
  if (call.order == ReductionOrder::kRing) {
    reduce_ring(call, loop);
  } else {
    reduce_whole(call, loop);
  }
}

template void reduce_vectors(const ReduceCall<float>&, bool);
template void reduce_vectors(const ReduceCall<double>&, bool);
template void reduce_vectors(const ReduceCall<Float16>&, bool);
template void reduce_vectors(const ReduceCall<BFloat16>&, bool);
template void reduce_vectors(const ReduceCall<std::uint8_t>&, bool);
template void reduce_vectors(const ReduceCall<std::uint16_t>&, bool);
template void reduce_vectors(const ReduceCall<std::uint32_t>&, bool);
template void reduce_vectors(const ReduceCall<std::uint64_t>&, bool);

}  // namespace belfry::kernels
