// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Reports about collectives: layouts, groups of replicas, parts and devices.
#include "belfry/reduction.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/each_place.h"
#include "belfry/vjp.h"
#include "reported.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::reported_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Floats = std::vector<float>;

// The elements of a column of a matrix in rows are no neighbours. Replica k has the column k, 10 +
// k.
TEST_P(Reported, ColumnsOfMatricesAreReducedGatheredAndBroadcast) {
  for (const int root : {0, 1, 2}) {
    const auto results = strategy_.run([&](ReplicaContext& replica) {
      const auto k = static_cast<float>(replica.replica_id());
      const auto column = slice(Tensor<float>::from({2, 2}, {k, -1, 10 + k, -1}), Axis(1), 0, 1);
      const auto from_root = replica.merge_call(
          [root](CrossReplicaContext& cross, const PerReplica<Tensor<float>>& all) {
            return cross.broadcast(all[root]);
          },
          column);
      return std::vector{replica.all_reduce(ReduceOp::kSum, column).to_host(),
                         replica.all_gather(column).to_host(), from_root.to_host(),
                         column.to_host()};
    });
    for (int k = 0; k < 3; ++k) {
      const auto own = static_cast<float>(k), of_root = static_cast<float>(root);
      EXPECT_THAT(results[k], ElementsAre(Floats{3, 33}, Floats{0, 10, 1, 11, 2, 12},
                                          Floats{of_root, 10 + of_root}, Floats{own, 10 + own}));
    }
  }
}

// Replicas 0 and 3, and 1 and 2, add up among themselves: 1 + 8 and 2 + 4.
TEST_P(Reported, GroupsOfReplicasReduceByMaskedValues) {
  sim::Backend backend{on(4)};
  MirroredStrategy strategy{backend};
  const auto in_groups = [](CrossReplicaContext& cross, const auto& all) {
    using Value = typename std::remove_cvref_t<decltype(all)>::value_type;
    std::vector<std::optional<Value>> outer(4), inner(4);
    for (const std::size_t k : {0, 3}) outer[k] = all[static_cast<int>(k)];
    for (const std::size_t k : {1, 2}) inner[k] = all[static_cast<int>(k)];
    const auto of_outer = cross.reduce(ReduceOp::kSum, PerReplica<Value>::from(outer));
    const auto of_inner = cross.reduce(ReduceOp::kSum, PerReplica<Value>::from(inner));
    return PerReplica<Value>{of_outer[0], of_inner[1], of_inner[2], of_outer[3]};
  };
  const auto numbers = strategy.run([&](ReplicaContext& replica) {
    return replica.merge_call(in_groups, static_cast<double>(1 << replica.replica_id()));
  });
  EXPECT_THAT(numbers, ElementsAre(9, 6, 6, 9));
  const auto tensors = strategy.run([&](ReplicaContext& replica) {
    const auto own = Tensor<float>::full({2}, static_cast<float>(1 << replica.replica_id()));
    return replica.merge_call(in_groups, own).to_host();
  });
  EXPECT_THAT(tensors, ElementsAre(Floats{9, 9}, Floats{6, 6}, Floats{6, 6}, Floats{9, 9}));
}

// Replica i has the number 10 i + j for replica j, (i + j) % 3 times.
TEST_P(Reported, PartsOfOtherLengthsGoFromEachReplicaToEach) {
  const auto part = [](int from, int to) {
    const auto count = static_cast<std::size_t>((from + to) % 3);
    return Floats(count, static_cast<float>(10 * from + to));
  };
  const auto got = strategy_.run([&](ReplicaContext& replica) {
    std::vector<Tensor<float>> parts;
    for (int to = 0; to < 3; ++to) {
      const Floats own = part(replica.replica_id(), to);
      parts.push_back(Tensor<float>::from({static_cast<std::int64_t>(own.size())}, own));
    }
    const auto turned = [](CrossReplicaContext& cross,
                           const PerReplica<std::vector<Tensor<float>>>& all) {
      return cross.strategy().distribute_values([&](int to) {
        std::vector<Tensor<float>> mine;
        for (const std::vector<Tensor<float>>& each : all) {
          const auto& sent = each[static_cast<std::size_t>(to)];
          mine.push_back(sent.copy_to(cross.strategy().placement(to)));
        }
        return concatenate(mine);
      });
    };
    return replica.merge_call(turned, parts).to_host();
  });
  EXPECT_THAT(got, ElementsAre(Floats{10, 20, 20}, Floats{1, 11, 11}, Floats{2, 2, 22}));
}

// 73 elements have no four equal parts. Element i of replica k is i (k + 1): the sums are 10 i.
TEST_P(Reported, ASumIsScatteredInPartsOfOtherLengths) {
  sim::Backend backend{on(4)};
  MirroredStrategy strategy{backend};
  const std::vector<std::int64_t> begins{0, 18, 37, 55, 73};
  const auto got = strategy.run([&](ReplicaContext& replica) {
    std::vector<double> own(73);
    for (std::size_t i = 0; i < own.size(); ++i) {
      own[i] = static_cast<double>(i) * (replica.replica_id() + 1);
    }
    const auto sum = replica.all_reduce(ReduceOp::kSum, Tensor<double>::from({73}, own));
    const auto k = static_cast<std::size_t>(replica.replica_id());
    return slice(sum, Axis(0), begins[k], begins[k + 1]).to_host();
  });
  double i = 0;
  for (const std::vector<double>& part : got) {
    for (const double element : part) EXPECT_EQ(element, 10 * i++);
  }
  EXPECT_EQ(i, 73);
}

// 4 replicas read a variable of ones.
TEST_P(Reported, TheSumOfAMirroredVariableCountsReplicas) {
  sim::Backend backend{on(4)};
  MirroredStrategy strategy{backend};
  const auto tensor = strategy.mirrored_variable([] { return Tensor<float>::full({2}, 1); });
  const auto number = strategy.mirrored_variable(1.0);
  const auto sums = strategy.run([&](ReplicaContext& replica) {
    return std::pair(replica.all_reduce(ReduceOp::kSum, tensor.on(replica)).to_host(),
                     replica.all_reduce(ReduceOp::kSum, static_cast<double>(number.on(replica))));
  });
  EXPECT_THAT(sums, Each(std::pair(Floats{4, 4}, 4.0)));
  EXPECT_EQ(strategy.read(tensor).to_host(), (Floats{1, 1}));
  EXPECT_EQ(strategy.read(number), 1);
}

TEST_P(Reported, ATensorOfAnotherDeviceIsRefusedInArithmeticAndMovedByReductions) {
  testing::at_each_place(3, [&](int owner) {
    const auto captured = Tensor<float>::full({2}, 5, strategy_.placement(owner));
    const std::string error = error_of(
        [&](ReplicaContext&) { return (Tensor<float>::full({2}, 1) + captured).to_host(); });
    EXPECT_THAT(error, AllOf(HasSubstr("BF-066"),
                             HasSubstr("on sim device SIM:" + std::to_string(owner) + "\n")));
    const auto sums = strategy_.run([&](ReplicaContext& replica) {
      const auto sum = replica.all_reduce(ReduceOp::kSum, captured);
      return std::pair(sum.to_host(), sum.placement() == replica.placement());
    });
    EXPECT_THAT(sums, Each(std::pair(Floats{15, 15}, true)));
  });
}

// The loss of replica d is the sum over d = 0, 1 of (w w + 1) d, at w = 1. The loss of the program
// is the sum over replicas: the derivatives with respect to each replica's w are 2 (2 w d). Of the
// loss of one replica alone they are 2 w d.
TEST_P(Reported, GradientsOfASumOfLossesCountTheLossOfEachReplica) {
  sim::Backend backend{on(2)};
  MirroredStrategy strategy{backend};
  const auto got = strategy.run([](ReplicaContext& replica) {
    const double d = replica.replica_id(), slope = 2 * d;
    const double loss = replica.all_reduce(ReduceOp::kSum, 2 * d);
    const double of_all = all_reduce_vjp(replica, ReduceOp::kSum, 1.0);
    const double of_first = all_reduce_vjp(replica, ReduceOp::kSum, d == 0 ? 1.0 : 0.0);
    return std::vector{loss, of_all * slope, of_first * slope};
  });
  EXPECT_THAT(got, ElementsAre(ElementsAre(2, 0, 0), ElementsAre(2, 4, 2)));
}

struct Largest {
  Tensor<float> combine(const Tensor<float>& a, const Tensor<float>& b) const {
    return maximum(a, b);
  }
  Tensor<float> finalize(Tensor<float> all, int /*replicas*/) const { return all; }
};
struct Smallest {
  Tensor<float> combine(const Tensor<float>& a, const Tensor<float>& b) const {
    return minimum(a, b);
  }
  Tensor<float> finalize(Tensor<float> all, int /*replicas*/) const { return all; }
};

// No number hides a NaN, wherever it is.
TEST_P(Reported, ReductionsOfTheProgramFindTheLargestAndTheSmallest) {
  testing::at_each_place(3, [&](int odd) {
    const auto found = strategy_.run([&](ReplicaContext& replica) {
      const bool is_odd = replica.replica_id() == odd;
      const auto own = Tensor<float>::from({2}, {is_odd ? 7.0F : 4.0F, is_odd ? 1.0F : 3.0F});
      const auto nan = Tensor<float>::full({}, is_odd ? std::nanf("") : 1.0F);
      return std::tuple(replica.all_reduce(Largest{}, own).to_host(),
                        replica.all_reduce(Smallest{}, own).to_host(),
                        std::isnan(replica.all_reduce(Largest{}, nan).item()),
                        std::isnan(replica.all_reduce(Smallest{}, nan).item()));
    });
    EXPECT_THAT(found, Each(std::tuple(Floats{7, 3}, Floats{4, 1}, true, true)));
  });
}

}  // namespace
}  // namespace belfry::reported_test
