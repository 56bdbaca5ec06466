// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "belfry/testing/backend_factory.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing {

/// A mirrored strategy over devices of the test program's backend, for rows of the catalogue.
struct VariableFixture {
  explicit VariableFixture(int replicas = 2)
      : backend(backend_factory().make(request_for(replicas))), strategy(*backend) {}

  static BackendRequest request_for(int replicas) {
    BackendRequest request;
    request.devices = replicas;
    return request;
  }
  template <class V>
  auto components(const V& variable) {
    const auto values = strategy.local_values(variable);
    return std::vector<typename V::value_type>(values.begin(), values.end());
  }
  /// Sets a variable in cross-replica context, or adds to it.
  template <class T>
  void assign(const MirroredVariable<T>& variable, T value) {
    cross().update(variable, [](T& component, const T& to) { component = to; }, value);
  }
  template <class T>
  void assign_add(const MirroredVariable<T>& variable, T value) {
    cross().update(variable, [](T& component, const T& by) { component += by; }, value);
  }
  /// Runs `fn(replica, id)` and returns the results of all replicas.
  template <class F>
  auto run(const F& fn) {
    const auto results =
        strategy.run([&](ReplicaContext& replica) { return fn(replica, replica.replica_id()); });
    return std::vector(results.begin(), results.end());
  }
  CrossReplicaContext& cross() { return strategy.cross_replica(); }

  std::unique_ptr<Backend> backend;
  MirroredStrategy strategy;
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
