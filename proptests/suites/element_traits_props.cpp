// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Reductions of types with ElementTraits are left folds by replica id, on every backend (SEM-158).
#include "belfry/testing/asserts.h"
#include "suites/property.h"

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::testing::element_traits_props {

/// The sum of two intervals contains every sum of their numbers.
struct Interval {
  double low = 0;
  double high = 0;
  bool operator==(const Interval&) const = default;
};

/// A map of the numbers modulo 2^32. The sum is the right map after the left map: the order shows.
struct Affine {
  std::uint32_t factor = 1;
  std::uint32_t offset = 0;
  bool operator==(const Affine&) const = default;
};

}  // namespace belfry::testing::element_traits_props

template <>
struct belfry::ElementTraits<belfry::testing::element_traits_props::Interval> {
  using Interval = belfry::testing::element_traits_props::Interval;
  static Interval zero() { return {}; }
  static Interval add(const Interval& left, const Interval& right) {
    return {left.low + right.low, left.high + right.high};
  }
  static Interval divide(const Interval& sum, int count) {
    return {sum.low / count, sum.high / count};
  }
  static std::string text(const Interval& value) {
    return std::to_string(value.low) + ".." + std::to_string(value.high);
  }
};

template <>
struct belfry::ElementTraits<belfry::testing::element_traits_props::Affine> {
  using Affine = belfry::testing::element_traits_props::Affine;
  static Affine zero() { return {}; }
  static Affine add(const Affine& left, const Affine& right) {
    return {right.factor * left.factor, right.factor * left.offset + right.offset};
  }
  static std::string text(const Affine& value) {
    return std::to_string(value.factor) + "x+" + std::to_string(value.offset);
  }
};

namespace belfry::testing::element_traits_props {
namespace {

// Beside a tensor: a reduction has leaves of both kinds.
using Value = std::pair<std::vector<Affine>, std::pair<Interval, Tensor<float>>>;

std::vector<Affine> maps_of(int replica, std::uint64_t seed) {
  const auto drawn = values_of<std::uint32_t>({Pattern::kRandom, seed}, replica, 4);
  return {{drawn[0], drawn[1]}, {drawn[2], drawn[3]}};
}

Interval interval_of(int replica, std::uint64_t seed) {
  const auto drawn = values_of<double>({Pattern::kRandom, seed}, replica, 2);
  return {drawn[0], drawn[1]};
}

// By hand, without ElementTraits.
std::vector<Affine> composed(int replicas, std::uint64_t seed) {
  std::vector<Affine> all = maps_of(0, seed);
  for (int replica = 1; replica < replicas; ++replica) {
    const std::vector<Affine> next = maps_of(replica, seed);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].factor *= next[i].factor;
      all[i].offset = next[i].factor * all[i].offset + next[i].offset;
    }
  }
  return all;
}

Interval added(int replicas, std::uint64_t seed) {
  Interval all = interval_of(0, seed);
  for (int replica = 1; replica < replicas; ++replica) {
    all.low += interval_of(replica, seed).low;
    all.high += interval_of(replica, seed).high;
  }
  return all;
}

class ElementsOfPrograms : public Property {};

TEST_F(ElementsOfPrograms, AreReducedByALeftFoldByReplicaId) {
  testing::asserts("SEM-158");
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const int replicas = strategy.num_replicas();
    const auto sums = strategy.run([&](ReplicaContext& replica) {
      const int id = replica.replica_id();
      Value own{maps_of(id, seed), {interval_of(id, seed), Tensor<float>::full({2}, 1)}};
      const Value sum = replica.all_reduce(ReduceOp::kSum, std::move(own));
      return std::tuple(sum.first, sum.second.first, sum.second.second.to_host());
    });
    for (const auto& [maps, interval, ones] : sums) {
      RC_ASSERT(maps == composed(replicas, seed));
      RC_ASSERT(interval == added(replicas, seed));
      RC_ASSERT(ones[1] == static_cast<float>(replicas));
    }
  });
}

TEST_F(ElementsOfPrograms, HaveTheMeanOfTheFold) {
  testing::asserts("SEM-158");
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const int replicas = strategy.num_replicas();
    const Interval sum = added(replicas, seed);
    const Interval expected{sum.low / replicas, sum.high / replicas};
    const auto variable = strategy.replica_local_variable(ReduceOp::kMean, Interval{});
    const auto means = strategy.run([&](ReplicaContext& replica) {
      const Interval own = interval_of(replica.replica_id(), seed);
      replica.assign(variable, own);
      return replica.all_reduce(ReduceOp::kMean, std::pair(own, Tensor<float>::full({1}, 1))).first;
    });
    for (const Interval& mean : means) RC_ASSERT(mean == expected);
    RC_ASSERT(strategy.read(variable) == expected);
  });
}

}  // namespace
}  // namespace belfry::testing::element_traits_props
