// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The same loops with 32-byte vectors and conversions of 16-bit floats in hardware, chosen at run
// time. Results have the same bits: additions and divisions are the same IEEE operations.
// Conversions differ only in the patterns of NaNs, and results have a single NaN.

#include "belfry/backend/element_types.h"
#include "kernels/reduce_loops.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>

namespace belfry::kernels {
namespace {

#define BELFRY_TARGET __attribute__((target("avx2,f16c")))
#define BELFRY_HAS_F16C
constexpr std::size_t kVectorBytes = 32;

using ByteVector = std::uint8_t __attribute__((vector_size(kVectorBytes)));

BELFRY_TARGET inline void stream_vector(void* to, const ByteVector& bytes) {
  _mm256_stream_si256(static_cast<__m256i*>(to), (__m256i)bytes);
}

/// For lanes with all bits equal.
BELFRY_TARGET inline bool any_bit(const ByteVector& lanes) {
  return _mm256_movemask_epi8((__m256i)lanes) != 0;
}

#include "kernels/reduce_pack.inl"
// The included loops use the packs defined above.
#include "kernels/reduce_loops.inl"

}  // namespace

bool has_wide_vectors() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"); }

template <class T>
ReduceLoops<T> wide_loops() {
  return loops<T>();
}

}  // namespace belfry::kernels

#else

namespace belfry::kernels {

bool has_wide_vectors() { return false; }

template <class T>
ReduceLoops<T> wide_loops() {
  return baseline_loops<T>();
}

}  // namespace belfry::kernels

#endif

namespace belfry::kernels {

template ReduceLoops<float> wide_loops();
template ReduceLoops<double> wide_loops();
template ReduceLoops<Float16> wide_loops();
template ReduceLoops<BFloat16> wide_loops();
template ReduceLoops<std::uint8_t> wide_loops();
template ReduceLoops<std::uint16_t> wide_loops();
template ReduceLoops<std::uint32_t> wide_loops();
template ReduceLoops<std::uint64_t> wide_loops();

}  // namespace belfry::kernels
