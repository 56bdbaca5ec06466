// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "suites/strategy_fixture.h"

#include <string>
#include <vector>

namespace belfry::testing {

/// A mirrored strategy over devices of the test program's backend, for rows about variables.
struct VariableFixture : StrategyFixture {
  explicit VariableFixture(int replicas = 2) : StrategyFixture(replicas) {}

  template <class V>
  auto components(const V& variable) {
    const auto values = strategy.local_values(variable);
    return std::vector<typename V::value_type>(values.begin(), values.end());
  }
  /// Runs `fn(replica, id)` and returns the results of all replicas.
  template <class F>
  auto run(const F& fn) {
    const auto results =
        strategy.run([&](ReplicaContext& replica) { return fn(replica, replica.replica_id()); });
    return std::vector(results.begin(), results.end());
  }
};

/// The code of the error that `body` throws; kInternal without an error of belfry's.
template <class Body>
ErrorCode error_of(const Body& body, std::string* text = nullptr) {
  try {
    body();
  } catch (const Error& error) {
    if (text != nullptr) *text = error.what();
    return error.code();
  }
  return ErrorCode::kInternal;
}

using Reals = std::vector<float>;
using Integers = std::vector<int>;

inline const std::vector<Aggregation>& all_aggregations() {
  static const std::vector<Aggregation> all = {Aggregation::kNone, Aggregation::kSum,
                                               Aggregation::kMean, Aggregation::kOnlyFirst};
  return all;
}

}  // namespace belfry::testing
