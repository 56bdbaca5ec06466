// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/testing/exact_number.h"

#include <ostream>

namespace belfry::testing {
namespace {

constexpr int kLargest = 8;
constexpr int kNumbers = 8 * kLargest + 1;

// The n-th number, simplest first: 0, 1, -1, 2, -2 to -8, then the multiples of 1/4 between.
ExactNumber number_at(int n) {
  const int whole = 2 * kLargest + 1;
  if (n < whole) return {4 * (n % 2 == 0 ? -n / 2 : (n + 1) / 2)};
  const int rest = (n - whole) / 2;  // From 0: 1/4, 1/2, 3/4, 5/4, ...
  const int quarters = rest / 3 * 4 + rest % 3 + 1;
  return {(n - whole) % 2 == 0 ? quarters : -quarters};
}

}  // namespace

// All numbers are equally likely, in large and in small cases.
rc::Gen<ExactNumber> exact_number() {
  return rc::gen::map(rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, kNumbers)), number_at);
}

void showValue(const ExactNumber& number, std::ostream& out) { out << double(number); }

}  // namespace belfry::testing
