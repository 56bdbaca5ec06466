// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/element_types.h"
#include "kernels/reduce_loops.h"

#include <algorithm>
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

// The attribute of functions in the included files (reduce_pack.inl). Empty: the compiler uses the
// instructions that every processor of the architecture has.
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

/// Whether any lane is set. Each lane has all bits set, or none.
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

/// Conversions by operations on bits.
template <>
struct Pack<Float16> : FloatPair {
  static constexpr std::size_t kElements = kVectorBytes / 2;

  BELFRY_TARGET void load(const Float16* from) {
    const Words pairs = load_vector<std::uint32_t>(from);
    first = widened(pairs & 0xffffU);
    second = widened(pairs >> 16);
  }
  BELFRY_TARGET void add(const Pack& right) { add_floats(right); }
  BELFRY_TARGET void store(Float16* to, bool stream) const {
    store_vector(to, narrowed(first) | (narrowed(second) << 16), stream);
  }

 private:
  // The shifted pattern is the value over 2^112, for subnormal values too.
  BELFRY_TARGET static Floats widened(const Words& bits) {
    const Words magnitude = bits & 0x7fffU;
    const Words scaled = (Words)((Floats)(magnitude << 13) * 0x1p112F);
    const Words special = (Words)((Vector<std::int32_t>)magnitude > 0x7bff) & 0x7f800000U;
    return (Floats)(scaled | special | ((bits & 0x8000U) << 16));
  }

  // Rounds like Float16, with selections in place of branches.
  BELFRY_TARGET static Words narrowed(const Floats& value) {
    const Words bits = (Words)value;
    const Words sign = (bits >> 16) & 0x8000U;
    const Words magnitude = bits & 0x7fffffffU;
    const auto ordered = (Vector<std::int32_t>)magnitude;
    const Words normal = (magnitude - 0x38000000U + 0x0fffU + ((magnitude >> 13) & 1U)) >> 13;
    const Words tiny = (Words)((Floats)magnitude + 0.5F) - 0x3f000000U;
    const Words is_tiny = (Words)(ordered < 0x38800000);
    const Words is_large = (Words)(ordered >= 0x477ff000);
    const Words is_nan = (Words)(ordered > 0x7f800000);
    const Words finite = (tiny & is_tiny) | (normal & ~is_tiny);
    return sign | (finite & ~is_large) | (0x7c00U & is_large) | (0x0200U & is_nan);
  }
};

// The loops use the packs above.
#include "kernels/reduce_loops.inl"

}  // namespace

template <class T>
std::size_t reduce_baseline(const ReduceCall<T>& call, std::size_t first, bool stream) {
  return reduce_packs<T>(call, first, stream);
}

template std::size_t reduce_baseline(const ReduceCall<float>&, std::size_t, bool);
template std::size_t reduce_baseline(const ReduceCall<double>&, std::size_t, bool);
template std::size_t reduce_baseline(const ReduceCall<Float16>&, std::size_t, bool);
template std::size_t reduce_baseline(const ReduceCall<BFloat16>&, std::size_t, bool);
template std::size_t reduce_baseline(const ReduceCall<std::uint8_t>&, std::size_t, bool);
template std::size_t reduce_baseline(const ReduceCall<std::uint16_t>&, std::size_t, bool);
template std::size_t reduce_baseline(const ReduceCall<std::uint32_t>&, std::size_t, bool);
template std::size_t reduce_baseline(const ReduceCall<std::uint64_t>&, std::size_t, bool);

}  // namespace belfry::kernels
