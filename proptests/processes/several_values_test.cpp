// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Values of unusual types and structures, and several strategies, over three hosts.
#include "belfry/belfry.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "processes/hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::testing::several_values {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(HostValues, OfNestedStructures) {
  testing::asserts("SEM-153");
  using Leaf = std::tuple<Tensor<Float16>, std::vector<int>, std::optional<float>>;
  using Nested = std::map<std::string, std::array<Leaf, 2>>;
  const auto sums = on_replicas([](ReplicaContext& replica) {
    const int id = replica.replica_id();
    const Leaf first{Tensor<Float16>::full({2}, Float16(float(id))), {id, 1}, std::nullopt};
    const Leaf second{Tensor<Float16>::zeros({0, 3}), {}, 0.5F};
    const Nested sum = replica.all_reduce(ReduceOp::kSum, Nested{{"a", {first, second}}});
    const auto& [halves, ints, none] = sum.at("a")[0];
    const auto& [empty, no_ints, one] = sum.at("a")[1];
    EXPECT_THAT(ints, ElementsAre(15, 6));
    EXPECT_EQ(none, std::nullopt);
    EXPECT_EQ(empty.shape(), Shape({0, 3}));
    EXPECT_THAT(no_ints, IsEmpty());
    return std::pair{float(halves.to_host()[1]), *one};
  });
  EXPECT_THAT(sums, Each(std::pair{15.0F, 3.0F}));
}

// 2048 and five ones in half precision: added in float and rounded once, 2053 is 2052 or 2054; the
// even one of the two neighbours is 2052.
TEST(HostValues, Of16BitFloatsAreRoundedOnce) {
  testing::asserts("SEM-153");
  EXPECT_THAT(on_replicas([](ReplicaContext& replica) {
                const Float16 own(replica.replica_id() == 0 ? 2048.0F : 1.0F);
                const auto tensor = Tensor<Float16>::full({1}, own);
                return std::pair{float(replica.all_reduce(ReduceOp::kSum, own)),
                                 float(replica.all_reduce(ReduceOp::kSum, tensor).item())};
              }),
              Each(std::pair{2052.0F, 2052.0F}));
}

TEST(HostValues, OfBool) {
  testing::asserts("SEM-153");
  EXPECT_THAT(on_replicas([](ReplicaContext& replica) {
                const auto own = Tensor<bool>::full({1}, replica.replica_id() % 2 == 1);
                std::vector<int> all;
                for (const bool one : replica.all_gather(own).to_host()) all.push_back(one ? 1 : 0);
                return all;
              }),
              Each(ElementsAre(0, 1, 0, 1, 0, 1)));
  EXPECT_THAT(texts_on_hosts<InvalidArgumentError>([](auto& strategy, sim::Host&) {
                strategy.run([](ReplicaContext& replica) {
                  replica.all_reduce(ReduceOp::kSum, Tensor<bool>::full({1}, true));
                });
              }),
              Each(HasSubstr("bool")));
}

TEST(HostValues, OfIntegersHaveNoMean) {
  testing::asserts("SEM-153");
  for (const bool is_tensor : {false, true}) {
    const auto texts = texts_on_hosts<InvalidArgumentError>([&](auto& strategy, sim::Host&) {
      strategy.run([&](ReplicaContext& replica) {
        if (is_tensor) {
          replica.all_reduce(ReduceOp::kMean, Tensor<int>::full({1}, 1));
        } else {
          replica.all_reduce(ReduceOp::kMean, std::vector{1});
        }
      });
    });
    EXPECT_THAT(texts, Each(HasSubstr("BF-035")));
  }
}

TEST(HostValues, WithoutATensor) {
  testing::asserts("SEM-153");
  EXPECT_THAT(texts_on_hosts<InvalidArgumentError>([](auto& strategy, sim::Host&) {
                strategy.run([](ReplicaContext& replica) {
                  replica.all_reduce(ReduceOp::kSum, Tensor<float>());
                });
              }),
              Each(HasSubstr("BF-030")));
}

TEST(HostValues, OfOtherStructureOnOneReplica) {
  testing::asserts("SEM-152");
  at_each_place(6, [](int odd) {
    const auto texts = texts_of_host_run<StructureMismatchError>([&](ReplicaContext& replica) {
      std::map<std::string, std::vector<Tensor<float>>> own;
      own[replica.replica_id() == odd ? "b" : "a"].push_back(Tensor<float>::zeros({2}));
      replica.all_reduce(ReduceOp::kSum, own);
    });
    const std::string name = ", replica " + std::to_string(odd) + "  ";
    EXPECT_THAT(texts, Each(AllOf(HasSubstr("BF-020"), HasSubstr(name))));
  });
}

TEST(HostStrategies, TakeTurns) {
  testing::asserts("SEM-150");
  sim::Cluster cluster{{.devices_of = {2, 1, 3}, .seed = 4}};
  cluster.run([](sim::Host& host) {
    MultiWorkerMirroredStrategy all{host.backend(), host.group()};
    MultiWorkerMirroredStrategy first{
        host.backend(), host.group(), {.devices = {host.backend().device_spec(0)}}};
    const auto weight = all.mirrored_variable(1.0, {.aggregation = Aggregation::kSum});
    const auto count = first.replica_local_variable(ReduceOp::kSum, 0);
    for (int step = 0; step < 3; ++step) {
      all.run([&](ReplicaContext& replica) { replica.assign_add(weight, 1.0); });
      first.run([&](ReplicaContext& replica) { replica.assign_add(count, 1); });
    }
    EXPECT_EQ(all.read(weight), 19);  // 1, and six replicas in three steps.
    EXPECT_EQ(first.read(count), 9);  // Three replicas in three steps.
  });
}

TEST(HostStrategies, AreMadeInOneOrder) {
  testing::asserts("SEM-150");
  at_each_place(3, [](int odd) {
    std::vector<std::string> texts(3);
    sim::Cluster cluster{{.devices_of = {2, 1, 3}}};
    cluster.run([&](sim::Host& host) {
      const int rank = host.group().rank();
      const auto left = [&] { MultiWorkerMirroredStrategy{host.backend(), host.group()}; };
      const auto right = [&] { MultiWorkerMirroredStrategy{host.backend(), host.group()}; };
      try {
        rank == odd ? right() : left();
      } catch (const MergeMismatchError& error) {
        texts[static_cast<std::size_t>(rank)] = error.what();
      }
      left();
    });
    EXPECT_THAT(texts, Each(AllOf(HasSubstr("BF-011"), HasSubstr("process 0"),
                                  HasSubstr("process 1"), HasSubstr("process 2"))));
  });
}

}  // namespace
}  // namespace belfry::testing::several_values
