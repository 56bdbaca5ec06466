// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Loops over named values in an order that differs between replicas (SEM-132, SEM-133). Loops with
// tags end with the right sums or with an error, never with a wrong sum. A reduction of a map is
// right.
#include "belfry/testing/each_place.h"
#include "suites/property.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing::merge_name_props {
namespace {

using Named = std::map<std::string, Tensor<float>>;
using Sums = std::map<std::string, std::vector<float>>;
using Names = std::vector<std::string>;

class MergeNames : public Property {};

/// The order of the names on each replica.
struct Orders {
  BackendRequest backend;
  std::vector<Names> names;

  /// The first round in which names differ between replicas; nothing if all orders are equal.
  std::optional<std::size_t> first_difference() const {
    for (std::size_t round = 0; round < names[0].size(); ++round) {
      for (const Names& own : names) {
        if (own[round] != names[0][round]) return round;
      }
    }
    return std::nullopt;
  }
};

// Permutation `number` of the names.
Names permuted(Names names, int number) {
  for (int i = 0; i < number; ++i) std::next_permutation(names.begin(), names.end());
  return names;
}

// One to four names. In half of the cases all replicas have the same order.
Orders draw_orders() {
  const BackendRequest backend = *backend_request(6);
  const int count = *rc::gen::element(1, 2, 3, 4);
  int permutations = 1;
  Names sorted;
  for (int i = 0; i < count; ++i) {
    sorted.push_back(std::string(1, static_cast<char>('a' + i)));
    permutations *= i + 1;
  }
  // Of the full size, since small ranges would leave most replicas with the first permutation.
  const auto any = rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, permutations));
  const bool same = *rc::gen::element(false, true);
  const int first = *any;
  Orders orders{backend, {}};
  for (int replica = 0; replica < backend.devices; ++replica) {
    const int number = same ? first : *any;
    orders.names.push_back(permuted(sorted, number));
  }
  return orders;
}

// A digit in base 100 for each name: the number of the replica, from 1. The digits of six replicas
// add up to less than 100. Therefore a sum over values of several names is never the right sum of a
// name. Right sums are multiples of 100^k below 22 * 100^k and exact in float.
float value_of(const std::string& name, int replica) {
  float value = 1;
  for (char letter = 'a'; letter < name[0]; ++letter) value *= 100;
  return value * static_cast<float>(replica + 1);
}

Sums right_sums(const Orders& orders) {
  Sums sums;
  for (const std::string& name : orders.names[0]) {
    float sum = 0;
    for (int replica = 0; replica < orders.backend.devices; ++replica) {
      sum += value_of(name, replica);
    }
    sums[name] = {sum};
  }
  return sums;
}

/// The reduction of a gradient in a replica.
using Reduce = Tensor<float> (*)(ReplicaContext&, const std::string& name, Tensor<float> gradient);
Tensor<float> with_tag(ReplicaContext& replica, const std::string& name, Tensor<float> gradient) {
  return replica.all_reduce(MergeTag{name}, ReduceOp::kSum, std::move(gradient));
}
Tensor<float> without(ReplicaContext& replica, const std::string&, Tensor<float> gradient) {
  return replica.all_reduce(ReduceOp::kSum, std::move(gradient));
}

Tensor<float> gradient_of(const std::string& name, int replica) {
  return Tensor<float>::full({1}, value_of(name, replica));
}

/// The sums on every replica, after a loop over the names in the order of the replica.
std::vector<Sums> sums_in_a_loop(Strategy& strategy, const Orders& orders, Reduce reduce) {
  const auto results = strategy.run([&](ReplicaContext& replica) {
    Named sums;
    const int id = replica.replica_id();
    for (const std::string& name : orders.names[static_cast<std::size_t>(id)]) {
      sums[name] = reduce(replica, name, gradient_of(name, id));
    }
    return sums;
  });
  std::vector<Sums> read;
  for (const Named& own : results) {
    Sums& sums = read.emplace_back();
    for (const auto& [name, sum] : own) sums[name] = sum.to_host();
  }
  return read;
}

void require_right(const std::vector<Sums>& read, const Orders& orders) {
  RC_ASSERT(read.size() == orders.names.size());
  for (const Sums& sums : read) RC_ASSERT(sums == right_sums(orders));
}

/// The report of the failure that a loop ends with.
ErrorReport failure_of(Strategy& strategy, const Orders& orders, Reduce reduce) {
  try {
    sums_in_a_loop(strategy, orders, reduce);
  } catch (const MergeMismatchError& error) {
    return error.report();
  }
  RC_FAIL("no replica reported anything");
  return {};
}

TEST_F(MergeNames, OfTagsGiveTheRightSumsOrAreReported) {
  holds([this] {
    const Orders orders = draw_orders();
    Bench bench(*this, orders.backend);
    Strategy& strategy = bench.strategy({.require_names = *rc::gen::arbitrary<bool>()});
    const std::optional<std::size_t> round = orders.first_difference();
    RC_TAG(round ? "orders differ" : "orders are equal");
    if (!round) return require_right(sums_in_a_loop(strategy, orders, with_tag), orders);
    const ErrorReport report = failure_of(strategy, orders, with_tag);
    RC_ASSERT(report.code == ErrorCode::kMergePlaces);
    RC_ASSERT(report.replicas.size() == orders.names.size());
    for (std::size_t replica = 0; replica < orders.names.size(); ++replica) {
      const std::string name = orders.names[replica][*round];
      RC_ASSERT(report.replicas[replica].what == "waits in all_reduce \"" + name + "\"");
    }
  });
}

TEST_F(MergeNames, AreRequiredInALoopWithoutNames) {
  holds([this] {
    const Orders orders = draw_orders();
    Bench bench(*this, orders.backend);
    Strategy& strategy = bench.strategy({.require_names = true});
    if (orders.names[0].size() == 1) {
      return require_right(sums_in_a_loop(strategy, orders, without), orders);
    }
    const ErrorReport report = failure_of(strategy, orders, without);
    RC_ASSERT(report.code == ErrorCode::kMergeUnnamed);
    RC_ASSERT(report.replicas.size() == 1U);
    RC_ASSERT(report.replicas[0].replica_id == 0);
  });
}

TEST_F(MergeNames, AreTheKeysOfAMapInAnyOrder) {
  holds([this] {
    const Orders orders = draw_orders();
    Bench bench(*this, orders.backend);
    Strategy& strategy = bench.strategy({.require_names = *rc::gen::arbitrary<bool>()});
    const auto results = strategy.run([&](ReplicaContext& replica) {
      Named gradients;
      const int id = replica.replica_id();
      for (const std::string& name : orders.names[static_cast<std::size_t>(id)]) {
        gradients[name] = gradient_of(name, id);
      }
      return replica.all_reduce(ReduceOp::kSum, std::move(gradients));
    });
    for (const Named& own : results) {
      Sums sums;
      for (const auto& [name, sum] : own) sums[name] = sum.to_host();
      RC_ASSERT(sums == right_sums(orders));
    }
  });
}

// Without tags and without the switch, a loop in two orders adds gradients of different names.
TEST_F(MergeNames, AreMissingInALoopWithTwoOrders) {
  Bench bench(*this, devices(3));
  at_each_place(3, [&](int odd) {
    const auto sums = bench.strategy().run([odd](ReplicaContext& replica) {
      std::vector<std::pair<std::string, Tensor<float>>> grads{
          {"w", Tensor<float>::full({1}, 1.0F)}, {"b", Tensor<float>::full({1}, 100.0F)}};
      const bool is_odd = replica.replica_id() == odd;
      if (is_odd) std::swap(grads[0], grads[1]);
      for (auto& [name, g] : grads) g = replica.all_reduce(ReduceOp::kSum, g);
      if (is_odd) std::swap(grads[0], grads[1]);
      return std::vector{grads[0].second.to_host()[0], grads[1].second.to_host()[0]};
    });
    // 1 + 1 + 100 comes first, 100 + 100 + 1 second: the odd replica takes the first for b.
    for (int id = 0; id < 3; ++id) {
      EXPECT_EQ(sums[id],
                id == odd ? std::vector({201.0F, 102.0F}) : std::vector({102.0F, 201.0F}));
    }
  });
}

}  // namespace
}  // namespace belfry::testing::merge_name_props
