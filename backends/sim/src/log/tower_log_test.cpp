// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Properties of belfry/tower.h that show only with drawn orders and devices that take time.
#include "belfry/sim/backend.h"
#include "belfry/sim/cluster.h"
#include "belfry/tensor_ops.h"
#include "belfry/tower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

namespace belfry::sim::tower_log_test {
namespace {

using ::testing::ElementsAre;

using Order = std::vector<int>;
using Program = std::function<void(tower::MirroredStrategy&)>;

/// The orders in which replicas began, by the logs of runs with different seeds.
std::set<Order> orders_of(const Program& program) {
  std::set<Order> orders;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    sim::Backend backend{{.devices = 3, .seed = seed}};
    tower::MirroredStrategy strategy{backend};
    program(strategy);
    Order order;
    for (const LogRecord& record : backend.log().records()) {
      if (record.kind == OperationKind::kStart) order.push_back(record.agent_index);
    }
    orders.insert(order);
  }
  return orders;
}

TEST(TowersInTheLog, RunConcurrentlyUnlessAskedOtherwise) {
  const auto fn = [](tower::TowerContext&) {};
  const auto serially = orders_of([&](tower::MirroredStrategy& strategy) {
    tower::call_for_each_tower(strategy, RunOptions{.concurrent = false}, fn);
  });
  EXPECT_THAT(serially, ElementsAre(Order{0, 1, 2}));
  const Program concurrent[] = {
      [&](auto& strategy) { tower::call_for_each_tower(strategy, RunOptions{}, fn); },
      [&](auto& strategy) { tower::call_for_each_tower(strategy, fn); },
      [&](auto& strategy) { tower::call_for_each_replica(strategy, fn); },
      [&](auto& strategy) { tower::run(strategy, fn); },
      [&](auto& strategy) { tower::experimental_run_v2(strategy, fn); },
      [&](auto& strategy) { tower::for_each_tower(strategy, fn); },
  };
  // All six orders of three; of 30 seeds.
  for (const Program& program : concurrent) EXPECT_GT(orders_of(program).size(), 1U);
}

// With the fixed schedule devices take a single step at a question, and all steps during a wait.
TEST(TowersInTheLog, AGroupIsDoneWithTheWork) {
  sim::Backend backend{{.devices = 2, .schedule = Schedule::fixed()}};
  tower::MirroredStrategy strategy{backend};
  const auto rows = strategy.distribute_values([](int) {
    auto row = Tensor<float>::full({4}, 1.0F);
    for (int step = 0; step < 100; ++step) row = add(row, 1.0F);
    return row;
  });
  const Completion all = tower::group(strategy, rows);
  EXPECT_FALSE(all.done());
  all.wait();
  EXPECT_TRUE(all.done());
}

// A program for each host, or one program for all devices.
TEST(TowersOfSeveralHosts, AreBetweenGraphs) {
  int hosts = 0;
  sim::Cluster{{.hosts = 3, .devices = 2, .seed = 7}}.run([&](sim::Host& host) {
    tower::MirroredStrategy own{host.backend()};
    EXPECT_FALSE(tower::between_graph(own));
    MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
    EXPECT_TRUE(tower::between_graph(strategy));
    const auto merged = tower::run(strategy, [](tower::TowerContext& ctx) {
      EXPECT_TRUE(tower::between_graph(ctx));
      return tower::merge_call(
          ctx,
          [](tower::DistributionStrategy& distribution, const tower::PerDevice<int>& ids) {
            EXPECT_TRUE(tower::between_graph(distribution));
            return tower::reduce(distribution, "sum", ids).value() +
                   100 * tower::num_towers(distribution);
          },
          tower::tower_id(ctx));
    });
    for (int sum : merged) hosts += sum == 615 ? 1 : 0;  // 0 + 1 + ... + 5, of 6 towers.
  });
  EXPECT_EQ(hosts, 6);
}

}  // namespace
}  // namespace belfry::sim::tower_log_test
