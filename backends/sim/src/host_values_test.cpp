// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/belfry.h"
#include "belfry/sim/repeat.h"
#include "belfry/testing/asserts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::sim::host_values_test {
namespace {

// A program that brings `number` to a place on the host.
using Program = std::function<void(MirroredStrategy&, double number)>;

// Whether a run with another number counts as another run.
bool tells_apart(const Program& program, double first, double second) {
  int runs = 0;
  try {
    repeat_and_compare({.devices = 2}, [&](Backend& backend) {
      MirroredStrategy strategy{backend};
      program(strategy, ++runs == 1 ? first : second);
    });
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotDeterministic);
    EXPECT_NE(std::string(error.what()).find("host_value"), std::string::npos) << error.what();
    return true;
  }
  return false;
}

void bring_to_all_reduce(MirroredStrategy& strategy, double number) {
  strategy.run([&](ReplicaContext& replica) {
    replica.all_reduce(ReduceOp::kSum, number * replica.replica_id());
  });
}

void bring_to_a_merge(MirroredStrategy& strategy, double number) {
  strategy.run([&](ReplicaContext& replica) {
    const std::map<int, std::vector<double>> leaves = {{0, {1.0, 2.0}}, {3, {4.0, number}}};
    replica.merge_call([](CrossReplicaContext&, const auto&) {}, leaves);
  });
}

void take_from_a_merge(MirroredStrategy& strategy, double number) {
  strategy.run([&](ReplicaContext& replica) {
    replica.merge_call([&](CrossReplicaContext&) { return std::tuple(1, number); });
  });
}

void return_from_run(MirroredStrategy& strategy, double number) {
  strategy.run([&](ReplicaContext& replica) { return replica.replica_id() == 1 ? number : 0.0; });
}

// A replica's write is seen at the next request for the component.
void write_a_component(MirroredStrategy& strategy, double number) {
  const auto sums = strategy.replica_local_variable(ReduceOp::kSum, 0.0);
  strategy.run([&](ReplicaContext& replica) {
    sums.on(replica) = number;
    sums.on(replica) = 0;
  });
}

void update_a_variable(MirroredStrategy& strategy, double number) {
  const auto weight = strategy.mirrored_variable(0.0);
  strategy.cross_replica().update(weight, [&](double& component) { component = number; });
}

void make_a_variable_and_read(MirroredStrategy& strategy, double number) {
  strategy.read(strategy.mirrored_variable(number));
}

const std::vector<std::pair<std::string, Program>> kPrograms = {
    {"all_reduce", bring_to_all_reduce}, {"merge argument", bring_to_a_merge},
    {"merge result", take_from_a_merge}, {"result of run", return_from_run},
    {"component", write_a_component},    {"update", update_a_variable},
    {"read", make_a_variable_and_read},
};

TEST(HostValues, AreComparedWhereverTheyGo) {
  belfry::testing::asserts("SEM-77");
  for (const auto& [name, program] : kPrograms) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(tells_apart(program, 1.0, 2.0));
    EXPECT_TRUE(tells_apart(program, 0.0, -0.0)) << "one bit";
    EXPECT_FALSE(tells_apart(program, 1.0, 1.0));
  }
}

// Five bytes in one leaf, or two leaves of a longer and a shorter list: neighbours stay apart.
TEST(HostValues, AreComparedWithTheirExtents) {
  const auto lists = [](int split) {
    std::vector<std::vector<std::int8_t>> parts(2);
    for (int i = 0; i < 5; ++i) parts[i < split ? 0 : 1].push_back(static_cast<std::int8_t>(i));
    return parts;
  };
  const Program program = [&](MirroredStrategy& strategy, double number) {
    strategy.run([&](ReplicaContext&) { return lists(static_cast<int>(number)); });
  };
  EXPECT_TRUE(tells_apart(program, 2, 3));
  EXPECT_TRUE(tells_apart(program, 0, 5));
  EXPECT_FALSE(tells_apart(program, 4, 4));
}

// The log knows nests alone.
TEST(HostValues, OfOtherTypesAreNotSeen) {
  const Program program = [](MirroredStrategy& strategy, double number) {
    strategy.run([&](ReplicaContext&) { return std::to_string(number); });
  };
  EXPECT_FALSE(tells_apart(program, 1, 2));
}

Log log_of(const Options& options, double number) {
  Backend backend{options};
  MirroredStrategy strategy{backend};
  for (const auto& [name, program] : kPrograms) program(strategy, number);
  return backend.log();
}

TEST(HostValues, AreInTheLogOnRequestAlone) {
  belfry::testing::asserts("SEM-77");
  for (const Digests digests : {Digests::kNone, Digests::kSampled}) {
    const Options options{.devices = 2, .digests = digests};
    EXPECT_EQ(log_of(options, 1).hash(), log_of(options, 2).hash());
  }
  const Options all{.devices = 2, .digests = Digests::kAll};
  EXPECT_NE(log_of(all, 1).hash(), log_of(all, 2).hash());
  EXPECT_NE(log_of(all, 1).order_free_hash(), log_of(all, 2).order_free_hash());
}

// Host values of replicas are the same in every order, and on every carrier.
TEST(HostValues, DoNotDependOnTheOrder) {
  const Options first{.devices = 4, .digests = Digests::kAll};
  const std::uint64_t expected = log_of(first, 3).order_free_hash();
  std::set<std::uint64_t> orders;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Options options = first;
    options.seed = seed;
    const Log log = log_of(options, 3);
    EXPECT_EQ(log.order_free_hash(), expected) << "seed " << seed;
    orders.insert(log.hash());
  }
  EXPECT_GT(orders.size(), 1u) << "one order alone was looked at";
  for (const Carrier carrier : {Carrier::kBaton, Carrier::kConcurrent}) {
    Options options = first;
    options.carrier = carrier;
    EXPECT_EQ(log_of(options, 3).order_free_hash(), expected) << to_string(carrier);
  }
}

}  // namespace
}  // namespace belfry::sim::host_values_test
