// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Part of reduce_baseline.cpp and reduce_wide.cpp, inside their namespaces. Both files define
// BELFRY_TARGET, the attributes of functions with their vectors, kVectorBytes, ByteVector,
// stream_vector and any_bit.

#define BELFRY_INLINE __attribute__((always_inline))

#define BELFRY_UNROLL _Pragma("GCC unroll 16")

template <class A>
struct VectorOf {
  typedef A Type __attribute__((vector_size(kVectorBytes)));
  typedef A Unaligned __attribute__((vector_size(kVectorBytes), aligned(1), may_alias));
};
template <class A>
using Vector = typename VectorOf<A>::Type;

template <class A>
BELFRY_TARGET inline Vector<A> load_vector(const void* from) {
  return *static_cast<const typename VectorOf<A>::Unaligned*>(from);
}

template <class V>
BELFRY_TARGET inline void store_vector(void* to, const V& vector, bool stream) {
  using Bytes = Vector<std::uint8_t>;
  if (stream) {
    stream_vector(to, (const Bytes&)vector);
  } else {
    *static_cast<typename VectorOf<std::uint8_t>::Unaligned*>(to) = (const Bytes&)vector;
  }
}

template <class A>
BELFRY_TARGET inline void divide_floats(Vector<A>& sum, std::size_t divisor) {
  if (std::has_single_bit(divisor)) {
    // Equal bits and five times as fast: the reciprocal is exact.
    sum *= A(1) / static_cast<A>(divisor);
  } else if (divisor != 0) {
    sum /= static_cast<A>(divisor);
  }
}

/// Replaces every NaN by the NaN of results.
template <class A>
BELFRY_TARGET inline void unite_nans(Vector<A>& sum) {
  using Word = element::Bits<A>;
  const auto is_nan = (Vector<Word>)(sum != sum);
  const auto nan = is_nan & element::Format<A>::kNaN;
  sum = (Vector<A>)(((Vector<Word>)sum & ~is_nan) | nan);
}

/// Vectors of elements that are added without conversion.
template <class T>
struct Pack {
  static constexpr std::size_t kElements = kVectorBytes / sizeof(T);
  Vector<T> sum;

  BELFRY_TARGET void load(const T* from) { sum = load_vector<T>(from); }
  BELFRY_TARGET void add(const Pack& right) { sum += right.sum; }
  BELFRY_TARGET void divide(std::size_t divisor) { divide_floats<T>(sum, divisor); }
  BELFRY_TARGET Vector<T> witness() const { return sum; }
  BELFRY_TARGET void unite() { unite_nans<T>(sum); }
  BELFRY_TARGET void store(T* to, bool stream) const { store_vector(to, sum, stream); }
};

using Words = Vector<std::uint32_t>;
using Floats = Vector<float>;

/// Widened 16-bit floats, in two vectors: elements at even and at odd places.
struct PairOfFloats {
  Floats even;
  Floats odd;

  BELFRY_TARGET void add_floats(const PairOfFloats& right) {
    even += right.even;
    odd += right.odd;
  }
  BELFRY_TARGET void divide(std::size_t divisor) {
    divide_floats<float>(even, divisor);
    divide_floats<float>(odd, divisor);
  }
  BELFRY_TARGET Floats witness() const { return even + odd; }
  BELFRY_TARGET void unite() {
    unite_nans<float>(even);
    unite_nans<float>(odd);
  }
};

template <>
struct Pack<BFloat16> : PairOfFloats {
  static constexpr std::size_t kElements = kVectorBytes / 2;

  BELFRY_TARGET void load(const BFloat16* from) {
    const Words pairs = load_vector<std::uint32_t>(from);
    even = (Floats)(pairs << 16);
    odd = (Floats)(pairs & 0xffff0000U);
  }
  BELFRY_TARGET void add(const Pack& right) { add_floats(right); }
  BELFRY_TARGET void store(BFloat16* to, bool stream) const {
    const Words low = rounded(even) >> 16;
    const Words high = rounded(odd) & 0xffff0000U;
    store_vector(to, low | high, stream);
  }

 private:
  // The NaN of results stays unchanged: its lower half is 0.
  BELFRY_TARGET static Words rounded(const Floats& value) {
    const Words bits = (Words)value;
    return bits + 0x7fffU + ((bits >> 16) & 1U);
  }
};

#ifndef BELFRY_HAS_F16C

template <>
struct Pack<Float16> : PairOfFloats {
  static constexpr std::size_t kElements = kVectorBytes / 2;

  BELFRY_TARGET void load(const Float16* from) {
    const Words pairs = load_vector<std::uint32_t>(from);
    even = widened(pairs & 0xffffU);
    odd = widened(pairs >> 16);
  }
  BELFRY_TARGET void add(const Pack& right) { add_floats(right); }
  BELFRY_TARGET void store(Float16* to, bool stream) const {
    store_vector(to, narrowed(even) | (narrowed(odd) << 16), stream);
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

#else

/// Eight elements in each half: here `even` and `odd` are the first and the second half.
template <>
struct Pack<Float16> : PairOfFloats {
  static constexpr std::size_t kElements = kVectorBytes / 2;

  BELFRY_TARGET void load(const Float16* from) {
    const auto* halves = reinterpret_cast<const __m128i*>(from);
    even = (Floats)_mm256_cvtph_ps(_mm_loadu_si128(halves));
    odd = (Floats)_mm256_cvtph_ps(_mm_loadu_si128(halves + 1));
  }
  BELFRY_TARGET void add(const Pack& right) { add_floats(right); }
  BELFRY_TARGET void store(Float16* to, bool stream) const {
    const __m128i low = _mm256_cvtps_ph((__m256)even, _MM_FROUND_TO_NEAREST_INT);
    const __m128i high = _mm256_cvtps_ph((__m256)odd, _MM_FROUND_TO_NEAREST_INT);
    const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
    store_vector(to, both, stream);
  }
};

#endif

/// Divides sums and replaces their NaNs. NaNs are rare, and a test of every vector took longer than
/// the additions. Therefore all vectors are added first: if the total is not NaN, no sum is. A total
/// of infinities with both signs is NaN too, and only causes an unneeded slow path.
template <class T, std::size_t n>
BELFRY_TARGET inline BELFRY_INLINE void finish(Pack<T>* sums, std::size_t divisor) {
  if constexpr (element::kIsFloating<T>) {
    BELFRY_UNROLL
    for (std::size_t u = 0; u < n; ++u) sums[u].divide(divisor);
    auto witness = sums[0].witness();
    BELFRY_UNROLL
    for (std::size_t u = 1; u < n; ++u) witness += sums[u].witness();
    if (any_bit((ByteVector)(witness != witness))) [[unlikely]] {
      BELFRY_UNROLL
      for (std::size_t u = 0; u < n; ++u) sums[u].unite();
    }
  }
}
