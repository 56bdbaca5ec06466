// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A loop over named gradients, and three ways to keep their names: docs/names_of_merges.md.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace belfry;

namespace {

// [gradients]
using Gradients = std::vector<std::pair<std::string, double>>;

// In an order of its own on each replica, as an unordered map may have it.
Gradients gradients_of(ReplicaContext& replica) {
  if (replica.replica_id() == 0) return {{"w", 1.0}, {"b", 100.0}};
  return {{"b", 100.0}, {"w", 1.0}};
}
// [gradients]

void print(const std::map<std::string, double>& sums) {
  for (const auto& [name, sum] : sums) std::cout << name << ' ' << sum << '\n';
}

// [loop]
std::map<std::string, double> sum_in_a_loop(ReplicaContext& replica) {
  Gradients grads = gradients_of(replica);
  for (auto& [name, g] : grads) g = replica.all_reduce(ReduceOp::kSum, g);
  return {grads.begin(), grads.end()};
}
// [loop]

// [tags]
std::map<std::string, double> sum_by_name(ReplicaContext& replica) {
  Gradients grads = gradients_of(replica);
  for (auto& [name, g] : grads) g = replica.all_reduce(MergeTag{name}, ReduceOp::kSum, g);
  return {grads.begin(), grads.end()};
}
// [tags]

// [sorted]
std::map<std::string, double> sum_in_order_of_names(ReplicaContext& replica) {
  const Gradients grads = gradients_of(replica);
  std::map<std::string, double> sums(grads.begin(), grads.end());
  for (auto& [name, g] : sums) g = replica.all_reduce(MergeTag{name}, ReduceOp::kSum, g);
  return sums;
}
// [sorted]

// [map]
std::map<std::string, double> sum_at_once(ReplicaContext& replica) {
  const Gradients grads = gradients_of(replica);
  return replica.all_reduce(ReduceOp::kSum,
                            std::map<std::string, double>(grads.begin(), grads.end()));
}
// [map]

void fail(Strategy& strategy, std::map<std::string, double> (*sum)(ReplicaContext&)) {
  try {
    strategy.run(sum);
  } catch (const MergeMismatchError& error) {
    std::cout << error.what() << '\n';
  }
}

}  // namespace

int main() {
  sim::Backend backend{{.devices = 2, .seed = 1}};
  MirroredStrategy strategy{backend};
  std::cout << "== loop\n";
  print(strategy.run(sum_in_a_loop)[0]);
  std::cout << "== tags\n";
  fail(strategy, sum_by_name);
  std::cout << "== sorted\n";
  print(strategy.run(sum_in_order_of_names)[0]);
  std::cout << "== map\n";
  print(strategy.run(sum_at_once)[0]);
  std::cout << "== switch\n";
  // [switch]
  MirroredStrategy strict{backend, {.require_names = true}};
  fail(strict, sum_in_a_loop);
  // [switch]
}
