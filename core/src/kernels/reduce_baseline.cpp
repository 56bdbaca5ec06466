// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/element_types.h"
#include "kernels/reduce_loops.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace belfry::kernels {
namespace {

#define BELFRY_TARGET
constexpr std::size_t kVectorBytes = 16;

using ByteVector = std::uint8_t __attribute__((vector_size(kVectorBytes)));

inline void stream_vector(void* to, const ByteVector& bytes) {
#if defined(__SSE2__)
  _mm_stream_si128(static_cast<__m128i*>(to), (__m128i)bytes);
#else
  *static_cast<ByteVector*>(to) = bytes;
#endif
}

/// For lanes with all bits equal.
inline bool any_bit(const ByteVector& lanes) {
#if defined(__SSE2__)
  return _mm_movemask_epi8((__m128i)lanes) != 0;
#else
  using Words = std::uint64_t __attribute__((vector_size(kVectorBytes)));
  const auto words = (Words)lanes;
  return (words[0] | words[1]) != 0;
#endif
}

#include "kernels/reduce_pack.inl"
// The included loops use the packs defined above.
#include "kernels/reduce_loops.inl"

}  // namespace

template <class T>
ReduceLoops<T> baseline_loops() {
  return loops<T>();
}

template ReduceLoops<float> baseline_loops();
template ReduceLoops<double> baseline_loops();
template ReduceLoops<Float16> baseline_loops();
template ReduceLoops<BFloat16> baseline_loops();
template ReduceLoops<std::uint8_t> baseline_loops();
template ReduceLoops<std::uint16_t> baseline_loops();
template ReduceLoops<std::uint32_t> baseline_loops();
template ReduceLoops<std::uint64_t> baseline_loops();

}  // namespace belfry::kernels
