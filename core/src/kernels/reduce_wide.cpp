// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The loops of reduce_baseline.cpp with 32-byte vectors and conversions of 16-bit floats in
// hardware, chosen at run time. Results have the bits of the baseline: additions and divisions are
// the same IEEE operations. Conversions differ only in the bits of NaNs, and every NaN becomes
// canonical.

#include "belfry/backend/element_types.h"
#include "kernels/reduce_loops.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>

namespace belfry::kernels {
namespace {

// The attribute of functions in the included files (reduce_pack.inl): the compiler may use AVX2 and
// F16C. Callers ask has_wide_vectors() first. An option for the whole file would also reach inline
// functions of other headers, and the linker could keep these copies for the whole library.
#define BELFRY_TARGET __attribute__((target("avx2,f16c")))

constexpr std::size_t kVectorBytes = 32;

using ByteVector = std::uint8_t __attribute__((vector_size(kVectorBytes)));

BELFRY_TARGET inline void stream_vector(void* to, const ByteVector& bytes) {
  _mm256_stream_si256(static_cast<__m256i*>(to), (__m256i)bytes);
}

/// Whether any lane is set. Each lane has all bits set, or none.
BELFRY_TARGET inline bool any_bit(const ByteVector& lanes) {
  return _mm256_movemask_epi8((__m256i)lanes) != 0;
}

#include "kernels/reduce_pack.inl"

/// Conversions in hardware.
template <>
struct Pack<Float16> : FloatPair {
  static constexpr std::size_t kElements = kVectorBytes / 2;

  BELFRY_TARGET void load(const Float16* from) {
    const auto* halves = reinterpret_cast<const __m128i*>(from);
    first = (Floats)_mm256_cvtph_ps(_mm_loadu_si128(halves));
    second = (Floats)_mm256_cvtph_ps(_mm_loadu_si128(halves + 1));
  }
  BELFRY_TARGET void add(const Pack& right) { add_floats(right); }
  BELFRY_TARGET void store(Float16* to, bool stream) const {
    const __m128i low = _mm256_cvtps_ph((__m256)first, _MM_FROUND_TO_NEAREST_INT);
    const __m128i high = _mm256_cvtps_ph((__m256)second, _MM_FROUND_TO_NEAREST_INT);
    const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
    store_vector(to, both, stream);
  }
};

// The loops use the packs above.
#include "kernels/reduce_loops.inl"

}  // namespace

bool has_wide_vectors() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"); }

template <class T>
std::size_t reduce_wide(const ReduceCall<T>& call, std::size_t first, bool stream) {
  return reduce_packs<T>(call, first, stream);
}

}  // namespace belfry::kernels

#else

namespace belfry::kernels {

bool has_wide_vectors() { return false; }

template <class T>
std::size_t reduce_wide(const ReduceCall<T>& call, std::size_t first, bool stream) {
  return reduce_baseline<T>(call, first, stream);
}

}  // namespace belfry::kernels

#endif

namespace belfry::kernels {

template std::size_t reduce_wide(const ReduceCall<float>&, std::size_t, bool);
template std::size_t reduce_wide(const ReduceCall<double>&, std::size_t, bool);
template std::size_t reduce_wide(const ReduceCall<Float16>&, std::size_t, bool);
template std::size_t reduce_wide(const ReduceCall<BFloat16>&, std::size_t, bool);
template std::size_t reduce_wide(const ReduceCall<std::uint8_t>&, std::size_t, bool);
template std::size_t reduce_wide(const ReduceCall<std::uint16_t>&, std::size_t, bool);
template std::size_t reduce_wide(const ReduceCall<std::uint32_t>&, std::size_t, bool);
template std::size_t reduce_wide(const ReduceCall<std::uint64_t>&, std::size_t, bool);

}  // namespace belfry::kernels
