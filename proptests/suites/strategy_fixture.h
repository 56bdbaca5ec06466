// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "belfry/testing/backend_factory.h"
#include "belfry/testing/code_of.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace belfry::testing {

/// Devices of the test program's backend, and a strategy over all devices: for examples with a
/// known outcome on every backend.
struct StrategyFixture {
  explicit StrategyFixture(int devices)
      : backend(backend_factory().make(request_for(devices))), strategy(*backend) {}

  static BackendRequest request_for(int devices) {
    BackendRequest request;
    request.devices = devices;
    return request;
  }
  int size() const { return strategy.num_replicas(); }
  Placement placement(int replica) { return strategy.placement(replica); }

  std::unique_ptr<Backend> backend;
  MirroredStrategy strategy;
  CrossReplicaContext& cross = strategy.cross_replica();
};

/// Replica i's component is `fn(i)`, made on replica i's device.
template <class F>
auto per_replica(StrategyFixture& fixture, const F& fn) {
  return fixture.strategy.distribute_values(fn);
}

template <class T>
std::vector<T> list_of(const PerReplica<T>& value) {
  return std::vector<T>(value.begin(), value.end());
}
template <class T>
std::vector<T> list_of(const Mirrored<T>& value) {
  std::vector<T> out;
  out.reserve(static_cast<std::size_t>(value.size()));
  for (int i = 0; i < value.size(); ++i) out.push_back(value[i]);
  return out;
}

}  // namespace belfry::testing
