// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Packs: neighbouring elements in vector registers, the unit of the loops in reduce_loops.inl.
//
// Two files include both .inl files, each inside an anonymous namespace of its own. The loops are
// thus written once and compiled for two sets of instructions: reduce_baseline.cpp has vectors of
// 16 bytes, reduce_wide.cpp vectors of 32 bytes. Before the inclusion each of the two files defines
//
//     BELFRY_TARGET  the attribute of a function that names its set of instructions
//     kVectorBytes   the size of a vector register
//     ByteVector     a vector of bytes
//     stream_vector  stores a vector in memory, past the caches
//     any_bit        whether any lane of a comparison is true
//
// and after it Pack<Float16>, because the two sets convert 16-bit floats by different instructions.

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

/// `stream`: past the caches; `to` is then a multiple of kVectorBytes.
template <class V>
BELFRY_TARGET inline void store_vector(void* to, const V& vector, bool stream) {
  using Bytes = Vector<std::uint8_t>;
  if (stream) {
    stream_vector(to, (const Bytes&)vector);
  } else {
    *static_cast<typename VectorOf<std::uint8_t>::Unaligned*>(to) = (const Bytes&)vector;
  }
}

/// Divides each lane; a divisor of 0 leaves the sum alone.
template <class A>
BELFRY_TARGET inline void divide_floats(Vector<A>& sum, std::size_t divisor) {
  if (std::has_single_bit(divisor)) {
    // A power of two has an exact reciprocal. The product therefore has the bits of the quotient,
    // and a multiplication takes a fifth of the time of a division.
    sum *= A(1) / static_cast<A>(divisor);
  } else if (divisor != 0) {
    sum /= static_cast<A>(divisor);
  }
}

/// element::canonical for each lane: every NaN gets the same bits.
template <class A>
BELFRY_TARGET inline void canonicalise_lanes(Vector<A>& sum) {
  using Word = element::Bits<A>;
  const auto is_nan = (Vector<Word>)(sum != sum);
  const auto nan = is_nan & element::Format<A>::kNaN;
  sum = (Vector<A>)(((Vector<Word>)sum & ~is_nan) | nan);
}

/// The sums of `kElements` neighbouring elements. 16-bit floats are converted to float, and have
/// packs of their own; elements of every other type are added as loaded.
template <class T>
struct Pack {
  static constexpr std::size_t kElements = kVectorBytes / sizeof(T);
  Vector<T> sum;

  BELFRY_TARGET void load(const T* from) { sum = load_vector<T>(from); }
  BELFRY_TARGET void add(const Pack& right) { sum += right.sum; }
  BELFRY_TARGET void divide(std::size_t divisor) { divide_floats<T>(sum, divisor); }
  /// A vector in which at least one lane is NaN if any sum is NaN.
  BELFRY_TARGET Vector<T> nan_indicator() const { return sum; }
  BELFRY_TARGET void canonicalise() { canonicalise_lanes<T>(sum); }
  BELFRY_TARGET void store(T* to, bool stream) const { store_vector(to, sum, stream); }
};

using Words = Vector<std::uint32_t>;
using Floats = Vector<float>;

/// A vector of 16-bit floats as two vectors of float. The conversion decides the elements of each:
/// conversions by bit operations put elements at even places into `first`, and at odd places into
/// `second`; the conversion of F16C puts the lower half into `first`.
struct FloatPair {
  Floats first;
  Floats second;

  BELFRY_TARGET void add_floats(const FloatPair& right) {
    first += right.first;
    second += right.second;
  }
  BELFRY_TARGET void divide(std::size_t divisor) {
    divide_floats<float>(first, divisor);
    divide_floats<float>(second, divisor);
  }
  BELFRY_TARGET Floats nan_indicator() const { return first + second; }
  BELFRY_TARGET void canonicalise() {
    canonicalise_lanes<float>(first);
    canonicalise_lanes<float>(second);
  }
};

template <>
struct Pack<BFloat16> : FloatPair {
  static constexpr std::size_t kElements = kVectorBytes / 2;

  BELFRY_TARGET void load(const BFloat16* from) {
    const Words pairs = load_vector<std::uint32_t>(from);
    first = (Floats)(pairs << 16);
    second = (Floats)(pairs & 0xffff0000U);
  }
  BELFRY_TARGET void add(const Pack& right) { add_floats(right); }
  BELFRY_TARGET void store(BFloat16* to, bool stream) const {
    const Words low = rounded(first) >> 16;
    const Words high = rounded(second) & 0xffff0000U;
    store_vector(to, low | high, stream);
  }

 private:
  // To nearest, ties to even, in the upper 16 bits. The canonical NaN stays unchanged: its lower
  // half is 0.
  BELFRY_TARGET static Words rounded(const Floats& value) {
    const Words bits = (Words)value;
    return bits + 0x7fffU + ((bits >> 16) & 1U);
  }
};

/// Divides sums, and gives every NaN the canonical bits. A test of every vector for NaNs takes
/// longer than the additions, and NaNs are rare. Therefore the indicators of all packs are added,
/// and one total is tested: NaN plus any number is NaN. Infinities of both signs also add up to
/// NaN, and cost an unneeded canonicalisation.
template <class T, std::size_t n>
BELFRY_TARGET __attribute__((always_inline)) inline void finish(Pack<T>* sums,
                                                                std::size_t divisor) {
  if constexpr (element::kIsFloating<T>) {
#pragma GCC unroll 16
    for (std::size_t u = 0; u < n; ++u) sums[u].divide(divisor);
    auto total = sums[0].nan_indicator();
#pragma GCC unroll 16
    for (std::size_t u = 1; u < n; ++u) total += sums[u].nan_indicator();
    if (any_bit((ByteVector)(total != total))) [[unlikely]] {
#pragma GCC unroll 16
      for (std::size_t u = 0; u < n; ++u) sums[u].canonicalise();
    }
  }
}
