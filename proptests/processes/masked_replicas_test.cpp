// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Replicas that take no part, over three hosts with the replicas 0 and 1, 2, and 3 to 5. The
// replicas 1 and 3 take no part; the others bring 1, 3, 5 and 6: the sum 15, the mean 3.75.
#include "belfry/belfry.h"
#include "belfry/indexed_slices.h"
#include "belfry/testing/asserts.h"
#include "belfry/vjp.h"
#include "processes/hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace belfry::testing::masked_replicas {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

PerReplica<double> some_values() {
  return PerReplica<double>::from({1.0, std::nullopt, 3.0, std::nullopt, 5.0, 6.0});
}

// The results of the replicas that take part, on all hosts.
template <class F>
auto on_some_replicas(const F& replica_function) {
  using Result = std::invoke_result_t<const F&, ReplicaContext&, double>;
  std::vector<std::optional<Result>> results(6);
  on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
    const PerReplica<Result> own = strategy.run(replica_function, some_values());
    for (int id = 0; id < own.size(); ++id) {
      if (own.has(id)) results[static_cast<std::size_t>(id)] = own[id];
    }
  });
  EXPECT_FALSE(results[1].has_value());
  EXPECT_FALSE(results[3].has_value());
  std::vector<Result> present;
  for (const std::optional<Result>& result : results) {
    if (result) present.push_back(*result);
  }
  return present;
}

struct Count {
  double combine(double folded, double) const { return folded; }
  double finalize(double, int replicas) const { return replicas; }
};

TEST(MaskedReplicas, AddNothingToAnAllReduce) {
  testing::asserts("SEM-211");
  EXPECT_EQ(on_some_replicas([](ReplicaContext& replica, double x) {
              return replica.all_reduce(ReduceOp::kSum, x);
            }),
            std::vector<double>(4, 15));
  EXPECT_EQ(on_some_replicas([](ReplicaContext& replica, double x) {
              return replica.all_reduce(ReduceOp::kMean, x);
            }),
            std::vector<double>(4, 3.75));
  EXPECT_EQ(on_some_replicas([](ReplicaContext& replica, double x) {
              return replica.all_reduce(ReduceOp::kMean, Tensor<double>::full({2}, x)).to_host();
            }),
            std::vector(4, std::vector<double>{3.75, 3.75}));
  EXPECT_EQ(on_some_replicas(
                [](ReplicaContext& replica, double x) { return replica.all_reduce(Count{}, x); }),
            std::vector<double>(4, 4));
}

TEST(MaskedReplicas, AreLeftOutOfVerbsBetweenRuns) {
  testing::asserts("SEM-211");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    CrossReplicaContext& cross = strategy.cross_replica();
    const auto lists = strategy.run(
        [](ReplicaContext& replica, double x) {
          return std::vector<double>(static_cast<std::size_t>(replica.replica_id()) + 1, x);
        },
        some_values());
    const auto [sum, mean] = cross.batch_reduce(ReduceOp::kSum, some_values(), some_values());
    EXPECT_EQ(sum.value() + mean.value(), 30);
    // 1 + 3 * 3 + 5 * 5 + 6 * 6 in 15 elements.
    EXPECT_DOUBLE_EQ(cross.reduce(ReduceOp::kMean, lists, Axis(0)).value(), 71.0 / 15);
    EXPECT_EQ(cross.gather(lists).size(), 15);
    const auto part = reduce_vjp(cross, ReduceOp::kMean, lists, std::vector<double>{8});
    EXPECT_THAT(part, Each(ElementsAre(2)));
    // Process 1 has replica 2 with the elements 1 to 3, behind the element of replica 0.
    std::vector<double> cotangent(15);
    for (std::size_t i = 0; i < cotangent.size(); ++i) cotangent[i] = static_cast<double>(i);
    const auto slices = gather_vjp(cross, lists, cotangent);
    const std::vector<std::vector<double>> expected{{1, 2, 3}};
    if (host.group().rank() == 1) {
      EXPECT_EQ(elements_of(slices), expected);
    }
  });
}

TEST(MaskedReplicas, DoNotCountInTheMeanOfSlices) {
  testing::asserts("SEM-211");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
    const auto slices = strategy.run(
        [](ReplicaContext& replica, double x) {
          return IndexedSlices<double>{Tensor<double>::full({1, 1}, x),
                                       Tensor<std::int64_t>::full({1}, replica.replica_id()),
                                       Shape{6, 1}};
        },
        some_values());
    const auto mean = reduce_slices(strategy.cross_replica(), ReduceOp::kMean, slices);
    EXPECT_THAT(mean.value().values.to_host(), ElementsAre(0.25, 0.75, 1.25, 1.5));
    EXPECT_THAT(mean.value().indices.to_host(), ElementsAre(0, 2, 4, 5));
  });
}

TEST(MaskedReplicas, AreNamedInAMismatch) {
  testing::asserts("SEM-211");
  const auto texts = texts_on_hosts<MergeMismatchError>([](auto& strategy, sim::Host&) {
    strategy.run(
        [](ReplicaContext& replica, double) {
          if (replica.replica_id() != 4) replica.all_reduce(ReduceOp::kSum, 1);
        },
        some_values());
  });
  EXPECT_THAT(texts, Each(AllOf(HasSubstr("BF-010"), HasSubstr("takes no part in this run"),
                                HasSubstr("returned before its first merge"))));
}

TEST(MaskedReplicas, LeaveNoComponentInAnyProcess) {
  testing::asserts("SEM-211");
  const auto texts = texts_on_hosts<InvalidArgumentError>([](auto& strategy, sim::Host&) {
    const PerReplica<double> nothing(detail::ReplicaArray<double>(),
                                     detail::Participants(6, std::vector<int>()));
    strategy.cross_replica().reduce(ReduceOp::kSum, nothing);
  });
  EXPECT_THAT(texts, Each(AllOf(HasSubstr("BF-030"), HasSubstr("any process"))));
}

}  // namespace
}  // namespace belfry::testing::masked_replicas
