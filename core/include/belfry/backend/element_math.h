// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/dtype.h"

#include <bit>
#include <cstdint>

/// Elementary functions as fixed sequences of + - * /, comparisons and bit operations. All machines
/// and compilers give the same bits, provided that products and sums are not contracted
/// (`-ffp-contract=off`, `-fmad=false`). Branch-free, for vectorised loops.
/// Largest errors, in units in the last place (see element_math_test.cpp): exp 1.1, log 1.1, tanh
/// 1.7.
namespace belfry::element {

/// Layout and constants of a binary floating-point type.
template <class C>
struct Format;

template <>
struct Format<float> {
  using Bits = std::uint32_t;
  static constexpr int kFractionBits = 23;
  static constexpr Bits kBias = 127;
  static constexpr Bits kNaN = 0x7fc00000U;
  static constexpr Bits kInfinity = 0x7f800000U;
  static constexpr Bits kSign = 0x80000000U;
  static constexpr Bits kSqrtHalf = 0x3f3504f3U;
  static constexpr float kLn2High = 0x1.62e4p-1F;  // 16 bits: n times this is exact.
  static constexpr float kLn2Low = 0x1.7f7d1cp-20F;
  static constexpr float kExpLowest = -105.0F;  // exp is 0 from here down,
  static constexpr float kExpHighest = 90.0F;   // and infinite from here up.
};

template <>
struct Format<double> {
  using Bits = std::uint64_t;
  static constexpr int kFractionBits = 52;
  static constexpr Bits kBias = 1023;
  static constexpr Bits kNaN = 0x7ff8000000000000U;
  static constexpr Bits kInfinity = 0x7ff0000000000000U;
  static constexpr Bits kSign = 0x8000000000000000U;
  static constexpr Bits kSqrtHalf = 0x3fe6a09e667f3bcdU;
  static constexpr double kLn2High = 0x1.62e42fefa2p-1;  // 40 bits.
  static constexpr double kLn2Low = 0x1.9ef35793c7673p-41;
  static constexpr double kExpLowest = -746.0;
  static constexpr double kExpHighest = 711.0;
};

/// The unsigned integer with the size of C.
template <class C>
using Bits = typename Format<C>::Bits;

/// The bits of `x`.
template <class C>
BELFRY_HOST_DEVICE constexpr Bits<C> to_bits(C x) {
  return std::bit_cast<Bits<C>>(x);
}

/// The number with these bits.
template <class C>
BELFRY_HOST_DEVICE constexpr C from_bits(Bits<C> bits) {
  return std::bit_cast<C>(bits);
}

/// x, with the same NaN for every NaN: machines differ in the NaN that an operation makes.
template <class C>
BELFRY_HOST_DEVICE constexpr C canonical(C x) {
  return x != x ? from_bits<C>(Format<C>::kNaN) : x;
}

namespace detail {

/// 1.5 times 2^fraction bits. Adding this number rounds to an integer, found in the low bits.
template <class C>
BELFRY_HOST_DEVICE constexpr C rounder() {
  return from_bits<C>(((Format<C>::kBias + Format<C>::kFractionBits) << Format<C>::kFractionBits) |
                      (Bits<C>{1} << (Format<C>::kFractionBits - 1)));
}

/// 2^(biased - bias).
template <class C>
BELFRY_HOST_DEVICE constexpr C power_of_two(Bits<C> biased) {
  return from_bits<C>(biased << Format<C>::kFractionBits);
}

/// c0 x^n + c1 x^(n - 1) + ... + cn, from c0 on: ((c0 x + c1) x + c2) ...
template <class C, class... More>
BELFRY_HOST_DEVICE constexpr C polynomial(C x, C first, More... more) {
  ((first = first * x + more), ...);
  return first;
}

/// The terms of second and higher order of exp, over x^2, by its Taylor series: on |x| <= 0.35 the
/// remainder is below 6e-9 with x^7 (float) and below 5e-18 with x^13 (double).
template <class C>
BELFRY_HOST_DEVICE constexpr C exp_tail(C x) {
  if constexpr (sizeof(C) == 4) {
    return polynomial(x, C(1) / 5040, C(1) / 720, C(1) / 120, C(1) / 24, C(1) / 6, C(0.5));
  } else {
    return polynomial(x, C(1) / 6227020800, C(1) / 479001600, C(1) / 39916800, C(1) / 3628800,
                      C(1) / 362880, C(1) / 40320, C(1) / 5040, C(1) / 720, C(1) / 120, C(1) / 24,
                      C(1) / 6, C(0.5));
  }
}

/// log((1 + s) / (1 - s)) / s - 2 as a series in z = s^2; for z <= 0.0295 the first omitted term is
/// below 5e-9 (float) and 2e-18 (double).
template <class C>
BELFRY_HOST_DEVICE constexpr C log_tail(C z) {
  if constexpr (sizeof(C) == 4) {
    return polynomial(z, C(2) / 9, C(2) / 7, C(2) / 5, C(2) / 3) * z;
  } else {
    return polynomial(z, C(2) / 21, C(2) / 19, C(2) / 17, C(2) / 15, C(2) / 13, C(2) / 11, C(2) / 9,
                      C(2) / 7, C(2) / 5, C(2) / 3) *
           z;
  }
}

/// (x - tanh(x)) / x as a function of z = x^2: Lambert's continued fraction to depth 5 (float) or 8
/// (double). For |x| < 0.55 the error is below 3e-10 or 2e-18.
template <class C>
BELFRY_HOST_DEVICE constexpr C tanh_tail(C z) {
  if constexpr (sizeof(C) == 4) {
    return (z * 14 + 315) * z / ((z * 15 + 420) * z + 945);
  } else {
    const C above = (((z + 594) * z + 45045) * z + 675675) * z;
    const C below = (((z + 630) * z + 51975) * z + 945945) * z + 2027025;
    return above / below;
  }
}

}  // namespace detail

/// e to the power of x.
template <class C>
BELFRY_HOST_DEVICE constexpr C exp(C x) {
  using F = Format<C>;
  C clamped = x < F::kExpLowest ? F::kExpLowest : x;
  clamped = clamped > F::kExpHighest ? F::kExpHighest : clamped;
  // x = n ln 2 + rest, |rest| <= ln(2) / 2; the first product is exact.
  const C rounder = detail::rounder<C>();
  const C shifted = clamped * C(0x1.71547652b82fep+0) + rounder;
  const C n = shifted - rounder;
  const C rest = (clamped - n * F::kLn2High) - n * F::kLn2Low;
  const C value = C(1) + (rest + rest * rest * detail::exp_tail(rest));
  // 2^n as two factors: a single factor could be out of range. Offsets keep the exponents positive.
  const Bits<C> exponent = to_bits(shifted) - to_bits(rounder) + 2 * (F::kBias + 1);
  const Bits<C> half = exponent >> 1;
  const C scaled = value * detail::power_of_two<C>(half - 1);
  return canonical(scaled * detail::power_of_two<C>(exponent - half - 1));
}

/// Natural logarithm; of 0: minus infinity; of negative numbers: NaN.
template <class C>
BELFRY_HOST_DEVICE constexpr C log(C x) {
  using F = Format<C>;
  const C infinity = from_bits<C>(F::kInfinity);
  const C smallest_normal = detail::power_of_two<C>(1);
  const bool tiny = x < smallest_normal;
  const C normal = tiny ? x * detail::power_of_two<C>(F::kBias + F::kFractionBits) : x;
  // x = 2^k (1 + f), with 1 + f between the square roots of 1/2 and 2.
  const Bits<C> one = F::kBias << F::kFractionBits;
  const Bits<C> shifted = to_bits(normal) - F::kSqrtHalf + one;
  const Bits<C> biased = shifted >> F::kFractionBits;
  const Bits<C> fraction = shifted & ((Bits<C>{1} << F::kFractionBits) - 1);
  const C f = from_bits<C>(fraction + F::kSqrtHalf) - C(1);
  // An integer below 2^fraction bits, put in the low bits of this power of two, becomes a float.
  const C large = detail::power_of_two<C>(F::kBias + F::kFractionBits);
  const C k = (from_bits<C>(to_bits(large) | biased) - large) -
              (C(F::kBias) + (tiny ? C(F::kFractionBits) : C(0)));
  const C s = f / (C(2) + f);
  const C tail = detail::log_tail(s * s);
  C result = k * F::kLn2High + (f - (s * (f - tail) - k * F::kLn2Low));
  result = x == C(0) ? -infinity : result;
  result = x < C(0) ? from_bits<C>(F::kNaN) : result;
  return canonical(x < infinity ? result : x);
}

/// Hyperbolic tangent; keeps the sign of zero.
template <class C>
BELFRY_HOST_DEVICE constexpr C tanh(C x) {
  using F = Format<C>;
  const Bits<C> sign = to_bits(x) & F::kSign;
  const C magnitude = from_bits<C>(to_bits(x) & ~F::kSign);
  const C far = C(1) - C(2) / (exp(magnitude + magnitude) + C(1));
  // The tail of a large argument is unused, but must not overflow into a NaN.
  const C close = magnitude < C(1) ? magnitude : C(1);
  const C near = close - close * detail::tanh_tail(close * close);
  const C result = magnitude < C(0.55) ? near : far;
  return x != x ? from_bits<C>(F::kNaN) : from_bits<C>(to_bits(result) | sign);
}

/// Sine and cosine of `x` quarter turns, |x| <= 1/2, by their Taylor series.
template <class C>
struct SineCosine {
  C sine = 0;    ///< Of the angle.
  C cosine = 1;  ///< Of the angle.
};

/// The sine and the cosine of `x` quarter turns, |x| <= 1/2.
template <class C>
BELFRY_HOST_DEVICE constexpr SineCosine<C> sine_cosine_of_quarters(C x) {
  const C angle = x * C(0x1.921fb54442d18p+0);
  const C z = angle * angle;
  C sine = C(0);
  C cosine = C(0);
  if constexpr (sizeof(C) == 8) {
    sine = (((z * (C(1) / 355687428096000) - C(1) / 1307674368000) * z + C(1) / 6227020800) * z -
            C(1) / 39916800) *
           z;
    cosine =
        (((C(1) / 20922789888000 - z * (C(1) / 6402373705728000)) * z - C(1) / 87178291200) * z +
         C(1) / 479001600) *
        z;
  }
  sine = ((((sine + C(1) / 362880) * z - C(1) / 5040) * z + C(1) / 120) * z - C(1) / 6) * z;
  cosine =
      (((((cosine - C(1) / 3628800) * z + C(1) / 40320) * z - C(1) / 720) * z + C(1) / 24) * z -
       C(0.5)) *
      z;
  return {angle + angle * sine, C(1) + cosine};
}

}  // namespace belfry::element
