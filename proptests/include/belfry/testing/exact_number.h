// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/dtype.h"

#include <rapidcheck.h>

#include <compare>
#include <iosfwd>
#include <type_traits>

namespace belfry::testing {

/// A small number whose sums are exact in every order: a multiple of 1/4 from -8 to 8. Sums of
/// half a million such numbers, and of ten thousand products of two, are exact in float. An
/// argument of a property: drawn, printed, and shrunk towards 0, then towards whole numbers.
struct ExactNumber {
  int quarters = 0;  ///< The number times 4.

  /// The number as a floating-point type.
  template <Element T>
    requires(!std::is_integral_v<T>)
  T as() const {
    if constexpr (std::is_same_v<T, double>) {
      return 0.25 * quarters;
    } else {
      return T(0.25F * static_cast<float>(quarters));
    }
  }
  /// NOLINTNEXTLINE(google-explicit-constructor): a number may be written as one.
  operator double() const { return as<double>(); }

  auto operator<=>(const ExactNumber&) const = default;
};

/// Any exact number.
rc::Gen<ExactNumber> exact_number();
/// `-2.25`.
void showValue(const ExactNumber& number, std::ostream& out);

}  // namespace belfry::testing

namespace rc {

template <>
struct Arbitrary<belfry::testing::ExactNumber> {
  static Gen<belfry::testing::ExactNumber> arbitrary() { return belfry::testing::exact_number(); }
};

}  // namespace rc
