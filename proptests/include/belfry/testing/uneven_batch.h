// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/testing/exact_number.h"

#include <rapidcheck.h>

#include <cstdint>
#include <iosfwd>
#include <vector>

namespace belfry::testing {

/// The examples of a step, with shares of different sizes for any number of replicas; some shares
/// are empty. An argument of a property: drawn, printed, and shrunk towards few examples, which all
/// belong to replica 0.
struct UnevenBatch {
  /// An example and its replica.
  struct Example {
    ExactNumber value{};      ///< The example.
    std::uint32_t owner = 0;  ///< The replica, modulo the number of replicas.
  };
  std::vector<Example> examples{};  ///< The examples, in order.

  /// The examples of `replica`, in their order. The shares of all `replicas` have each example
  /// once.
  std::vector<double> share(int replica, int replicas) const;
  /// All examples.
  std::vector<double> whole() const { return share(0, 1); }
};

/// 0 to 100 examples, also none.
rc::Gen<UnevenBatch> uneven_batch();
/// `[1 of replica 0, -2.25 of replica 7]`.
void showValue(const UnevenBatch& batch, std::ostream& out);

}  // namespace belfry::testing

namespace rc {

template <>
struct Arbitrary<belfry::testing::UnevenBatch> {
  static Gen<belfry::testing::UnevenBatch> arbitrary() { return belfry::testing::uneven_batch(); }
};

}  // namespace rc
