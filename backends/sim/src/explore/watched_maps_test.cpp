// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Containers that replicas pass to verbs and merge functions in watched code: no remark accuses a
// value that was passed, and a captured value is named.
#include "belfry/belfry.h"
#include "belfry/sim/explore.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/certified.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace belfry::sim::watched_maps_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kReplicas = 3;

struct Layer {
  std::map<std::string, std::vector<double>> weights;
  std::optional<double> bias;
  static auto members(auto& self) { return std::tie(self.weights, self.bias); }
};

template <class Value>
using Values = std::map<std::string, Value>;

// A map with a key for each letter of `keys`.
template <class Value>
Values<Value> map_of(const std::string& keys, const std::function<Value(int)>& value) {
  Values<Value> map;
  int number = 0;
  for (const char key : keys) map[std::string(20, key)] = value(number++);
  return map;
}

// Explores a run of three replicas, and wants a certificate without a remark. Returns the outcome.
template <class Replica>
std::string certified(const Replica& replica) {
  const Verdict verdict = explore({.devices = kReplicas}, [&](Backend& backend) {
    MirroredStrategy strategy{backend};
    const auto results = strategy.run(
        [&](ReplicaContext& context) { return replica(context, context.replica_id()); });
    return std::vector(results.begin(), results.end());
  });
  EXPECT_CERTIFIED(verdict);
  EXPECT_THAT(verdict.report().notes, IsEmpty());
  return verdict.report().outcomes.at(0).outcome;
}

TEST(WatchedMaps, AreReducedWithoutARemark) {
  // The sums of 0 + 1 + 2, and of 0 + 10 + 20.
  EXPECT_EQ(certified([](ReplicaContext& replica, int id) {
              const auto map =
                  map_of<double>("ab", [&](int key) { return id * (key == 0 ? 1 : 10); });
              const auto sums = replica.all_reduce(ReduceOp::kSum, map);
              return sums.begin()->second + sums.rbegin()->second;
            }),
            "[33, 33, 33]");
  EXPECT_EQ(certified([](ReplicaContext& replica, int id) {
              const auto map = map_of<std::vector<double>>("abcde", [&](int key) {
                return std::vector<double>{1.0, static_cast<double>(id * key)};
              });
              return replica.all_reduce(ReduceOp::kMean, map).rbegin()->second[1];
            }),
            "[4, 4, 4]");  // The mean of 0, 4, 8.
  EXPECT_EQ(certified([](ReplicaContext& replica, int id) {
              const auto map = map_of<Tensor<float>>(
                  "abc", [&](int) { return Tensor<float>::full({2}, static_cast<float>(id)); });
              return replica.all_reduce(ReduceOp::kSum, map).begin()->second.to_host()[1];
            }),
            "[3, 3, 3]");
}

TEST(WatchedMaps, InsideOfStructuresAreReducedWithoutARemark) {
  EXPECT_EQ(certified([](ReplicaContext& replica, int id) {
              Layer layer;
              layer.weights = map_of<std::vector<double>>(
                  "abc", [&](int key) { return std::vector<double>{id + 1.0 * key}; });
              layer.bias = id;
              const Layer sums = replica.all_reduce(ReduceOp::kSum, layer);
              return sums.weights.rbegin()->second[0] + *sums.bias;
            }),
            "[12, 12, 12]");  // 2 + 3 + 4, and 0 + 1 + 2.
}

TEST(WatchedMaps, AreGatheredWithoutARemark) {
  EXPECT_EQ(certified([](ReplicaContext& replica, int id) {
              const auto map = map_of<std::vector<double>>(
                  "ab", [&](int) { return std::vector<double>(1, 1.0 + id); });
              return replica.all_gather(map).begin()->second;
            }),
            "[[1, 2, 3], [1, 2, 3], [1, 2, 3]]");
}

// The merge function reads the map of a single replica, at each place in turn.
TEST(WatchedMaps, OfOneReplicaAreReadByMergesWithoutARemark) {
  for (std::size_t odd = 0; odd < kReplicas; ++odd) {
    const std::string got = std::to_string(10 * odd);
    EXPECT_EQ(certified([&](ReplicaContext& replica, int id) {
                const auto map = map_of<double>("ab", [&](int) { return 10.0 * id; });
                return replica.merge_call(
                    [&](CrossReplicaContext&, const PerReplica<Values<double>>& all) {
                      return all[odd].begin()->second;
                    },
                    map);
              }),
              "[" + got + ", " + got + ", " + got + "]");
  }
}

// A merge function, and no verb, reads a captured value that a single replica writes.
TEST(CapturedValues, OfOneReplicaThatAMergeReadsAreNoted) {
  for (int odd = 0; odd < kReplicas; ++odd) {
    const int line = __LINE__;
    const Verdict verdict = explore({.devices = kReplicas}, [&](Backend& backend) {
      MirroredStrategy strategy{backend};
      std::vector<double> loss(1);
      const auto results = strategy.run([&](ReplicaContext& replica) {
        if (replica.replica_id() == odd) loss[0] = 5;
        (void)replica.all_reduce(ReduceOp::kSum, 1.0);
        if (replica.replica_id() == odd) loss[0] = 7;
        return replica.merge_call([&](CrossReplicaContext&) { return loss[0]; });
      });
      return results[0];
    });
    EXPECT_CERTIFIED(verdict);
    const std::string file = "watched_maps_test.cpp:";
    EXPECT_THAT(verdict.report().notes,
                ElementsAre("a captured value that was not reduced: R" + std::to_string(odd) +
                            " of run 1 alone writes it at " + file + std::to_string(line + 7) +
                            ", and a merge reads it at " + file + std::to_string(line + 8)));
  }
}

}  // namespace
}  // namespace belfry::sim::watched_maps_test
