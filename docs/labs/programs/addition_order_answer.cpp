// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Lab 5, an attempt and the answer: docs/labs/addition_order.md.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <cstddef>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

using namespace belfry;
namespace {

const std::vector<float> kTerms{1, 1e8F, -1e8F, 4};

template <class Number>
void print(const char* name, const PerReplica<Number>& sums) {
  std::cout << name;
  for (const Number sum : sums) std::cout << ' ' << sum;
  std::cout << '\n';
}

/// The starter with another type of number.
PerReplica<double> sums_of_doubles(Strategy& strategy, double large) {
  return strategy.run([&](ReplicaContext& replica) {
    const std::vector<double> all{1, large, -large, 4};
    const auto id = static_cast<std::size_t>(replica.replica_id());
    const std::vector<double> terms = replica.all_gather(std::vector<double>{all[id]});
    double sum = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) sum += terms[(id + i) % terms.size()];
    return sum;
  });
}

// [answer]
/// The sum of the terms of all replicas, on each replica, by the algorithm of the strategy.
PerReplica<float> sums_of_terms(Strategy& strategy) {
  return strategy.run([](ReplicaContext& replica) {
    const auto id = static_cast<std::size_t>(replica.replica_id());
    const auto own = Tensor<float>::from({1}, {kTerms[id]});
    return replica.all_reduce(ReduceOp::kSum, own).to_host()[0];
  });
}
// [answer]

void print(const char* name, std::shared_ptr<CrossDeviceOps> algorithm) {
  sim::Backend backend{{.devices = 4, .seed = 1}};
  MirroredStrategy strategy{backend, {.cross_device_ops = std::move(algorithm)}};
  print(name, sums_of_terms(strategy));
}

}  // namespace

int main() {
  std::cout << "== doubles\n";
  sim::Backend backend{{.devices = 4, .seed = 1}};
  MirroredStrategy strategy{backend};
  print("1e8:", sums_of_doubles(strategy, 1e8));
  print("1e17:", sums_of_doubles(strategy, 1e17));
  std::cout << "== answer\n";
  print("to one device:", std::make_shared<ReductionToOneDevice>());
  print("ring, start 1:", std::make_shared<RingAllReduce>(RingOptions{.start = 1}));
  print("halving and doubling:", std::make_shared<HalvingDoublingAllReduce>());
}
