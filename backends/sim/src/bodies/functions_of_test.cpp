// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The replica whose functions merges call (SEM-135).
#include "belfry/belfry.h"
#include "belfry/error.h"
#include "belfry/scatter.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace belfry::sim::functions_of_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kDevices = 3;

// The results of `body` with the functions of replica 0, 1 and 2.
template <class Body>
std::vector<double> with_functions_of_each(const Body& body) {
  std::vector<double> results;
  for (int replica = 0; replica < kDevices; ++replica) {
    Backend backend{{.devices = kDevices, .functions_of = replica}};
    MirroredStrategy strategy{backend};
    results.push_back(body(strategy));
  }
  return results;
}

double own(const ReplicaContext& replica) { return 10.0 * replica.replica_id(); }

TEST(FunctionsOf, IsReplica0UnlessAsked) {
  Backend backend{{.devices = kDevices}};
  EXPECT_EQ(backend.run_settings().functions_of, 0);
}

TEST(FunctionsOf, ChoosesTheFunctionOfAMerge) {
  belfry::testing::asserts("SEM-3", "SEM-135");
  EXPECT_THAT(with_functions_of_each([](MirroredStrategy& strategy) {
                return strategy.run([](ReplicaContext& replica) {
                  const double mine = own(replica);
                  return replica.merge_call([mine](CrossReplicaContext&) { return mine; });
                })[1];
              }),
              ElementsAre(0, 10, 20));
}

TEST(FunctionsOf, IsOfTheStrategysReplicasAndNotOfDevices) {
  for (int replica = 0; replica < kDevices; ++replica) {
    Backend backend{{.devices = kDevices, .functions_of = replica}};
    const std::vector devices{backend.device_spec(2), backend.device_spec(0)};
    MirroredStrategy strategy{backend, {.devices = devices}};
    const auto taken = strategy.run([](ReplicaContext& each) {
      const double mine = own(each);
      return each.merge_call([mine](CrossReplicaContext&) { return mine; });
    });
    EXPECT_EQ(taken[0], replica == 1 ? 10 : 0) << replica;
  }
}

TEST(FunctionsOf, EntersNeitherLogNorHash) {
  belfry::testing::asserts("SEM-135");
  const auto log_with = [](int functions_of, const auto& look) {
    Backend backend{{.devices = kDevices, .digests = Digests::kAll, .functions_of = functions_of}};
    MirroredStrategy strategy{backend};
    const auto weight = strategy.mirrored_variable([] { return Tensor<float>::zeros({4}); },
                                                   {.aggregation = Aggregation::kMean});
    strategy.run([&](ReplicaContext& replica) {
      const auto mine = Tensor<float>::full({4}, 1.0F + replica.replica_id());
      replica.assign(weight, replica.all_reduce(ReduceOp::kSum, mine));
      return replica.merge_call(
          [](CrossReplicaContext& cross, const PerReplica<double>& values) {
            return cross.reduce(ReduceOp::kMean, values);
          },
          own(replica));
    });
    look(backend.log());
  };
  Log first;
  log_with(0, [&](const Log& log) { first = log; });
  for (const int replica : {1, 2}) {
    log_with(replica, [&](const Log& log) {
      EXPECT_EQ(log.hash(), first.hash());
      EXPECT_EQ(log.order_free_hash(), first.order_free_hash());
      EXPECT_EQ(log.records(), first.records());
    });
  }
}

TEST(FunctionsOf, IsOfAReplicaThatADeviceCarries) {
  for (const int replica : {-1, 3}) {
    try {
      const Backend backend{{.devices = 3, .functions_of = replica}};
      ADD_FAILURE() << replica;
    } catch (const InvalidArgumentError& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_THAT(error.what(), HasSubstr("functions of replica " + std::to_string(replica) +
                                          " on a backend with 3 devices"));
    }
  }
}

TEST(MergeSites, AreKeptWithAllDigestsAndEnterNoHash) {
  belfry::testing::asserts("SEM-77");
  const auto run_on = [](Backend& backend) {
    MirroredStrategy strategy{backend};
    strategy.run([](ReplicaContext& replica) {
      for (int round = 0; round < 2; ++round) replica.all_reduce(ReduceOp::kSum, 1);
      replica.all_reduce(ReduceOp::kSum, 2);
    });
  };
  Backend watched{{.devices = 2, .digests = Digests::kAll}};
  run_on(watched);
  const std::vector<CallSite>& sites = watched.log().merge_sites();
  ASSERT_EQ(sites.size(), 3u);
  EXPECT_TRUE(same_place(sites[0], sites[1]));
  EXPECT_EQ(sites[2].line, sites[0].line + 1);
  EXPECT_THAT(to_string(sites[0]), HasSubstr("functions_of_test.cpp:"));
  Backend sampled{{.devices = 2}};
  run_on(sampled);
  EXPECT_THAT(sampled.log().merge_sites(), ElementsAre());

  const auto hash_at = [](const CallSite& site) {
    Log log(10, true);
    log.append({.kind = OperationKind::kMerge, .agent = {AgentId::Kind::kMerge, 0}, .site = site});
    return log.hash();
  };
  EXPECT_EQ(hash_at({"a.cc", 1}), hash_at({"b.cc", 2}));
}

}  // namespace
}  // namespace belfry::sim::functions_of_test
