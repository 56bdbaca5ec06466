// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Keys of maps are names of leaves. If replicas bring maps with equally many but different keys,
// every verb that combines the maps refuses, and the error names the replicas and the keys
// (SEM-36).
#include "belfry/backend/host_backend.h"
#include "belfry/reduction.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "belfry/vjp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::map_keys_test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::HasSubstr;

template <class T>
using Named = std::map<std::string, T>;

class MapKeys : public ::testing::Test {
 protected:
  // `{w: value, b: value}`, on replica `odd` `{w: value, c: value}`.
  template <class T>
  Named<T> two(int replica, const T& value) const {
    return {{"w", value}, {replica == odd_ ? "c" : "b", value}};
  }
  // The keys `b` and `c` come first in order.
  static auto names_both() {
    return Each(AllOf(HasSubstr("BF-020"), HasSubstr("{b}"), HasSubstr("{c}"),
                      ContainsRegex("replicas? 0")));
  }
  // The texts of the error of a run of `body` on every replica, for each odd replica.
  template <class Body>
  std::vector<std::string> in_replicas(const Body& body) {
    std::vector<std::string> texts(3, "no StructureMismatchError");
    testing::at_each_place(3, [&](int odd) {
      odd_ = odd;
      std::string& text = texts[static_cast<std::size_t>(odd)];
      try {
        strategy_.run(body);
      } catch (const StructureMismatchError& error) {
        text = error.what();
        const bool names_odd = text.find("replica " + std::to_string(odd)) != std::string::npos;
        EXPECT_TRUE(odd == 0 || names_odd || text.find("cotangent") != std::string::npos) << text;
      }
    });
    return texts;
  }
  // The texts of the error of `body(cross, maps)` in a merge with maps of all replicas.
  template <class T, class Body>
  std::vector<std::string> in_a_merge(const T& value, const Body& body) {
    return in_replicas([&](ReplicaContext& replica) {
      replica.merge_call(
          [&](CrossReplicaContext& cross, const PerReplica<Named<T>>& maps) { body(cross, maps); },
          two(replica.replica_id(), value));
    });
  }

  int odd_ = 1;
  HostBackend backend_{3};
  MirroredStrategy strategy_{backend_};
};

TEST_F(MapKeys, AreComparedByTheReductionsOfReplicas) {
  testing::asserts("SEM-36");
  EXPECT_THAT(in_replicas([&](ReplicaContext& replica) {
                replica.all_reduce(ReduceOp::kSum, two(replica.replica_id(), 1.0));
              }),
              names_both());
  EXPECT_THAT(in_replicas([&](ReplicaContext& replica) {
                const auto one = Tensor<float>::full({2}, 1.0F);
                replica.all_reduce(ReduceOp::kSum, two(replica.replica_id(), one));
              }),
              names_both());
  EXPECT_THAT(in_replicas([&](ReplicaContext& replica) {
                replica.all_reduce(TruncatedMean{}, two(replica.replica_id(), 4));
              }),
              names_both());
  // Also inside containers.
  EXPECT_THAT(in_replicas([&](ReplicaContext& replica) {
                const std::tuple value{1, std::vector{two(replica.replica_id(), 1)}};
                replica.all_reduce(ReduceOp::kSum, value);
              }),
              names_both());
}

// The odd replica stands at each place in turn, with a key more, a key fewer, or nothing at all.
TEST_F(MapKeys, AreNamedWithTheReplicasThatHaveThem) {
  HostBackend backend(3);
  MirroredStrategy strategy(backend);
  const auto error_of = [&](int odd, const Named<Named<int>>& its,
                            const Named<Named<int>>& others) {
    try {
      strategy.run([&](ReplicaContext& replica) {
        replica.all_reduce(ReduceOp::kSum, replica.replica_id() == odd ? its : others);
      });
    } catch (const StructureMismatchError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const Named<Named<int>> one{{"layer", {{"w", 1}}}}, two{{"layer", {{"b", 1}, {"w", 1}}}};
  const std::vector<std::string> rest{"1,2", "0,2", "0,1"};
  for (int odd = 0; odd < 3; ++odd) {
    const std::string alone = "replica " + std::to_string(odd);
    const std::string others = "replicas " + rest[static_cast<std::size_t>(odd)];
    EXPECT_THAT(error_of(odd, two, one),
                HasSubstr("hint: {layer}{b} is on " + alone + " and not on " + others +
                          ": bring the same keys"));
    EXPECT_THAT(error_of(odd, one, two),
                HasSubstr("hint: {layer}{b} is on " + others + " and not on " + alone +
                          ": bring the same keys"));
    EXPECT_THAT(error_of(odd, {}, one),
                HasSubstr("hint: {layer}{w} is on " + others + " and not on " + alone +
                          ": bring the same keys"));
  }
}

TEST_F(MapKeys, AreComparedByGathers) {
  const std::vector<int> row{1, 2};
  const Tensor<float> tensor = [&] {
    const auto scope = strategy_.scope();
    return Tensor<float>::full({2}, 1.0F);
  }();
  EXPECT_THAT(in_replicas([&](ReplicaContext& replica) {
                replica.all_gather(two(replica.replica_id(), row));
              }),
              names_both());
  EXPECT_THAT(in_replicas([&](ReplicaContext& replica) {
                replica.all_gather(two(replica.replica_id(), tensor));
              }),
              names_both());
  EXPECT_THAT(in_a_merge(row, [](auto& cross, const auto& maps) { cross.gather(maps); }),
              names_both());
}

TEST_F(MapKeys, AreComparedByAssignments) {
  const auto v = strategy_.mirrored_variable(Named<double>{{"w", 0.0}, {"b", 0.0}},
                                             {.aggregation = Aggregation::kSum});
  const std::vector<std::function<void(ReplicaContext&, Named<double>)>> verbs = {
      [&](ReplicaContext& r, Named<double> own) { r.assign(v, std::move(own)); },
      [&](ReplicaContext& r, Named<double> own) { r.assign_add(v, std::move(own)); },
      [&](ReplicaContext& r, Named<double> own) { r.assign_sub(v, std::move(own)); }};
  for (const auto& verb : verbs) {
    EXPECT_THAT(in_replicas([&](ReplicaContext& replica) {
                  verb(replica, two(replica.replica_id(), 1.0));
                }),
                names_both());
  }
  EXPECT_EQ(strategy_.read(v), (Named<double>{{"w", 0.0}, {"b", 0.0}})) << "nothing was assigned";
}

TEST_F(MapKeys, AreComparedByReductionsOfWhatAMergeReceives) {
  const auto device = strategy_.devices().front();
  EXPECT_THAT(
      in_a_merge(1.0, [](auto& cross, const auto& maps) { cross.reduce(ReduceOp::kSum, maps); }),
      names_both());
  EXPECT_THAT(
      in_a_merge(
          1.0, [&](auto& cross, const auto& maps) { cross.reduce(ReduceOp::kSum, maps, device); }),
      names_both());
  EXPECT_THAT(
      in_a_merge(4, [](auto& cross, const auto& maps) { cross.reduce(TruncatedMean{}, maps); }),
      names_both());
  EXPECT_THAT(
      in_a_merge(1.0, [](auto& cross,
                         const auto& maps) { cross.batch_reduce(ReduceOp::kSum, maps, maps); }),
      names_both());
  EXPECT_THAT(in_a_merge(1.0,
                         [](auto& cross, const PerReplica<Named<double>>& maps) {
                           const PerReplica<std::vector<Named<double>>> lists{
                               std::vector{maps[0]}, std::vector{maps[1]}, std::vector{maps[2]}};
                           cross.reduce_mapped(ReduceOp::kSum, lists);
                         }),
              names_both());
}

TEST_F(MapKeys, AreComparedByReadsOfReplicaLocalVariables) {
  const auto sums = strategy_.replica_local_variable(ReduceOp::kSum, Named<double>{{"w", 0.0}});
  EXPECT_THAT(in_replicas([&](ReplicaContext& replica) {
                replica.assign(sums, two(replica.replica_id(), 1.0));
                replica.merge_call([&](CrossReplicaContext& cross) { cross.fetch(sums); });
              }),
              names_both());
}

TEST_F(MapKeys, AreComparedByTheProductOfAGather) {
  using Rows = Named<std::vector<double>>;
  const Rows gathered{{"b", {1}}, {"w", {1, 2}}};
  const Rows cotangent{{"b", {1, 2, 3}}, {"w", {4, 5, 6, 7, 8, 9}}};
  const Rows other{{"c", {1, 1, 1, 1}}, {"w", {2, 2, 2, 2}}};
  const Rows more{{"b", {1, 1, 1, 1}}, {"v", {1, 1}}, {"w", {2, 2, 2, 2}}};
  // The replicas gathered 1 element of `b` and 2 of `w` each, and get their parts of the cotangent,
  // summed over three replicas.
  const auto slices = strategy_.run(
      [&](ReplicaContext& replica) { return all_gather_vjp(replica, gathered, cotangent); });
  EXPECT_THAT(slices, ::testing::ElementsAre(Rows{{"b", {3}}, {"w", {12, 15}}},
                                             Rows{{"b", {6}}, {"w", {18, 21}}},
                                             Rows{{"b", {9}}, {"w", {24, 27}}}));
  for (const Rows& wrong : {other, more}) {
    EXPECT_THAT(
        in_replicas([&](ReplicaContext& replica) { all_gather_vjp(replica, gathered, wrong); }),
        Each(HasSubstr("BF-020 a cotangent has ")));
    const PerReplica<Rows> all{gathered, gathered, gathered};
    EXPECT_THROW(gather_vjp(strategy_.cross_replica(), all, wrong), StructureMismatchError);
  }
  EXPECT_THAT(in_replicas([&](ReplicaContext& replica) {
                all_gather_vjp(replica, gathered, other, Axis(0), CallSite{"train.cc", 11});
              }),
              Each(HasSubstr("BF-020 a cotangent has float64[4] at {c}, and what was gathered has "
                             "float64[1] at {b}\n  at train.cc:11\n")));
}

// The merge function receives the maps unchanged and uncompared.
TEST_F(MapKeys, AreNotComparedWhereNobodyCombinesMaps) {
  const auto keys = strategy_.run([&](ReplicaContext& replica) {
    return replica.merge_call(
        [](CrossReplicaContext&, const PerReplica<Named<double>>& maps) {
          return static_cast<int>(maps[0].count("b") + maps[1].count("c"));
        },
        two(replica.replica_id(), 1.0));
  });
  EXPECT_EQ(keys[0], 2);
}

// Two aggregates with equal members in different orders. Names of members are parts of the types.
struct Layer {
  double weight = 1;
  double bias = 100;
  static auto members(auto& self) { return std::tie(self.weight, self.bias); }
};
struct Turned {
  double bias = 100;
  double weight = 1;
  static auto members(auto& self) { return std::tie(self.bias, self.weight); }
};

TEST_F(MapKeys, OfMembersArePartsOfTheType) {
  const auto sums = strategy_.run(
      [](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kSum, Layer{}); });
  EXPECT_EQ(sums[1].weight, 3);
  EXPECT_EQ(sums[1].bias, 300);
  const CallSite site{"train.cc", 11};
  std::string text;
  try {
    strategy_.run([&](ReplicaContext& replica) {
      if (replica.replica_id() == 0)
        replica.all_reduce(ReduceOp::kSum, Layer{}, site);
      else
        replica.all_reduce(ReduceOp::kSum, Turned{}, site);
    });
  } catch (const MergeMismatchError& error) {
    text = error.what();
  }
  EXPECT_THAT(text, AllOf(HasSubstr("BF-013"), HasSubstr("Layer"), HasSubstr("Turned")));
}

}  // namespace
}  // namespace belfry::map_keys_test
