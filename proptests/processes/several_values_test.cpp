// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Values of unusual types and structures, and several strategies, over three hosts.
#include "belfry/belfry.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "processes/hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace belfry::testing::several_values {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

}  // namespace
}  // namespace belfry::testing::several_values
