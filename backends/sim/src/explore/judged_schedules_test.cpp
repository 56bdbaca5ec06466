// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The level of a program in watched code, from many judged schedules.
#include "belfry/belfry.h"
#include "belfry/launch.h"
#include "belfry/sim/explore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace belfry::sim::judged_schedules_test {
namespace {

using Order = std::vector<int>;

constexpr std::uint64_t kSeeds = 24;
constexpr int kReplicas = 5;

// The replicas in the order of their start: 120 orders.
Order order_of(Backend& backend) {
  MirroredStrategy strategy{backend};
  Order order;
  strategy.run([&](ReplicaContext& replica) { order.push_back(replica.replica_id()); });
  return order;
}

// A judged schedule of its own for each seed: the schedule of a random run.
Options judged(std::uint64_t seed) {
  Backend backend{{.devices = kReplicas, .seed = seed}};
  (void)order_of(backend);
  return {.devices = kReplicas, .schedule = Schedule::replay(backend.replay_token())};
}

VerdictLevel level_of(const Options& options, const Order& rare) {
  return explore(options, [&](Backend& backend) { return order_of(backend) == rare; }).level();
}

// Of the further schedules, the serial one begins with replica 0, and its reverse with replica 4.
TEST(JudgedSchedules, AllRefuteTwoOutcomesOfTheFurtherSchedules) {
  const auto first = [](Backend& backend) { return order_of(backend)[0]; };
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    EXPECT_EQ(explore(judged(seed), first).level(), VerdictLevel::kRefuted) << seed;
  }
  EXPECT_EQ(explore({.devices = kReplicas}, first).level(), VerdictLevel::kRefuted);
  const Options serial{.devices = kReplicas, .schedule = Schedule::fixed()};
  EXPECT_EQ(explore(serial, first).level(), VerdictLevel::kRefuted);
}

// In the reverse schedule, each replica makes all its steps before the next lower replica starts.
TEST(JudgedSchedules, AllRefuteAnOutcomeOfTheReverseSchedule) {
  const auto descends = [](Backend& backend) {
    MirroredStrategy strategy{backend};
    Order order;
    strategy.run([&](ReplicaContext& replica) {
      for (int step = 0; step < 4; ++step) {
        order.push_back(replica.replica_id());
        (void)Tensor<float>::full({1}, 1.0F);
      }
    });
    return std::ranges::is_sorted(order, std::greater<>());
  };
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Backend backend{{.devices = kReplicas, .seed = seed}};
    EXPECT_FALSE(descends(backend));
    const Options options{.devices = kReplicas,
                          .schedule = Schedule::replay(backend.replay_token())};
    EXPECT_EQ(explore(options, descends).level(), VerdictLevel::kRefuted) << seed;
  }
}

// The body tells one order of 120 from the others. The order is a judged schedule's, and none of
// the further schedules has the order.
TEST(JudgedSchedules, AloneRefuteARareOutcome) {
  const Options serial{.devices = kReplicas, .schedule = Schedule::fixed()};
  int rare_orders = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Backend backend{judged(seed)};
    const Order order = order_of(backend);
    if (level_of(serial, order) != VerdictLevel::kRacy) continue;
    ++rare_orders;
    EXPECT_EQ(level_of(judged(seed), order), VerdictLevel::kRefuted) << seed;
    Backend other{judged(seed + 1)};
    if (order_of(other) == order) continue;
    EXPECT_EQ(level_of(judged(seed + 1), order), VerdictLevel::kRacy) << seed;
  }
  EXPECT_GE(rare_orders, 5);
}

struct Note {
  double* cell;
  void on_host(std::span<float> y) const { *cell = 10 * *cell + static_cast<double>(y[0]); }
};

// Replicas launch a kernel with the captured cell, and meet. A stream may run the body of the last
// replica at the merge only after the merge.
void launch_and_meet(Backend& backend, double& cell, int kernels) {
  MirroredStrategy strategy{backend};
  strategy.run([&](ReplicaContext& replica) {
    const int id = replica.replica_id();
    if (id >= kernels) {
      cell = 3;
    } else {
      auto y = Tensor<float>::full(Shape{}, static_cast<float>(id));
      launch(Note{&cell}, updates(y));
    }
    replica.merge_call([](CrossReplicaContext&) {});
  });
  for (int i = 0; i < 2; ++i) backend.device(i).compute_stream().synchronize();
}

TEST(JudgedSchedules, AllFindTheRacesOfBodies) {
  for (const int kernels : {1, 2}) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const auto body = [&](Backend& backend) {
        const auto cell = std::make_unique<double>(0);
        launch_and_meet(backend, *cell, kernels);
        return *cell;
      };
      Backend backend{{.devices = 2, .seed = seed}};
      (void)body(backend);
      const Verdict verdict =
          explore({.devices = 2, .schedule = Schedule::replay(backend.replay_token())}, body);
      EXPECT_FALSE(verdict.report().races.empty()) << kernels << ' ' << explain(verdict);
      EXPECT_EQ(verdict.level(), VerdictLevel::kRefuted) << kernels << ' ' << explain(verdict);
    }
  }
}

// Schedules differ, and the seed that the body sees does not.
TEST(JudgedSchedules, LeaveTheSeedOfTheBackend) {
  const Verdict verdict = explore({.devices = 2, .seed = 9}, [](Backend& backend) {
    bool asked = false;
    MirroredStrategy strategy{backend};
    strategy.run([&](ReplicaContext&) { asked = true; });
    return asked ? static_cast<double>(backend.options().seed) : 0;
  });
  EXPECT_EQ(verdict.level(), VerdictLevel::kRacy) << explain(verdict);
  EXPECT_EQ(verdict.report().outcomes.at(0).outcome, "9");
}

}  // namespace
}  // namespace belfry::sim::judged_schedules_test
