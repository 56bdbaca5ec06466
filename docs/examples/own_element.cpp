// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A number type of the program, reduced over replicas and kept in a variable.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <cstdint>
#include <iostream>
#include <string>

// [type]
// Money in cents: decimal fractions are exact.
struct Cents {
  std::int64_t count = 0;
};

template <>
struct belfry::ElementTraits<Cents> {
  static Cents zero() { return {}; }
  static Cents add(const Cents& left, const Cents& right) { return {left.count + right.count}; }
  static Cents divide(const Cents& sum, int count) { return {sum.count / count}; }
  static std::string text(const Cents& value) { return std::to_string(value.count) + " cents"; }
};
// [type]

using namespace belfry;

int main() {
  sim::Backend backend{{.devices = 3, .seed = 7}};
  MirroredStrategy strategy{backend};
  // [use]
  const auto sales = strategy.replica_local_variable(ReduceOp::kSum, Cents{});
  const PerReplica<Cents> means = strategy.run([&](ReplicaContext& replica) {
    const Cents own{10 * (replica.replica_id() + 1)};
    replica.assign_add(sales, own);
    return replica.all_reduce(ReduceOp::kMean, own);
  });
  std::cout << means << '\n' << strategy.read(sales).count << '\n';
  // [use]
}
