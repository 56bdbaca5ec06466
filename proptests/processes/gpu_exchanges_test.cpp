// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Exchanges of tensors between the GPUs of several processes, through an NCCL communicator over all
// processes: here on the simulated driver. Suites of exchange_props compare the values.
#include "belfry/belfry.h"
#include "belfry/testing/asserts.h"
#include "processes/counting_group.h"
#include "processes/gpu_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing::gpu_exchanges {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// The traffic of a process in an exchange, in rows of 4 KiB.
struct Traffic {
  std::uint64_t rows_to_processes = 0;  // From device to device.
  std::uint64_t reduce_scatters = 0;
  bool passes_the_host = false;

  bool operator==(const Traffic&) const = default;
};
constexpr std::int64_t kFloats = 1024;

using Row = Tensor<float>;
using Exchange = std::function<void(ReplicaContext&, const Row&)>;

// The traffic of the processes {0, 1} and {2} in `exchange` of 6 rows on each replica, after a
// first exchange.
std::vector<Traffic> traffic_of(const Exchange& exchange, const StrategyOptions& options = {}) {
  const sim::SimulatedDriver machine({.gpus = 3});
  std::vector<Traffic> traffic(2);
  std::vector<std::unique_ptr<CountingGroup>> groups(2);
  const auto wrap = [&](ProcessGroup& own) -> ProcessGroup& {
    auto& group = groups[static_cast<std::size_t>(own.rank())];
    group = std::make_unique<CountingGroup>(own);
    return *group;
  };
  on_gpu_processes(
      {.gpus = {{0, 1}, {2}}, .options = options},
      [&](GpuProcess& process) {
        const auto rank = static_cast<std::size_t>(process.group.rank());
        const auto run = [&] {
          process.strategy.run([&](ReplicaContext& replica) {
            const auto id = static_cast<float>(replica.replica_id());
            exchange(replica, Row::full({6, kFloats}, 1 + id));
          });
        };
        run();
        const std::size_t sent = groups[rank]->sent;
        const cuda::Statistics before = process.backend.statistics();
        run();
        const cuda::Statistics after = process.backend.statistics();
        const std::size_t row = static_cast<std::size_t>(kFloats) * sizeof(float);
        traffic[rank] = {(after.exchange.bytes - before.exchange.bytes) / row,
                         after.reduce_scatter.calls - before.reduce_scatter.calls,
                         groups[rank]->sent - sent > row || after.read.bytes != before.read.bytes};
      },
      wrap);
  EXPECT_EQ(machine.reports(), std::vector<std::string>{});
  return traffic;
}

Row rows(const Row& all, std::int64_t begin, std::int64_t end) {
  return slice(all, Axis(0), begin, end);
}

// A tensor goes once to a process that needs it, and to no other.
TEST(GpuExchanges, GoFromDeviceToDeviceOnce) {
  testing::asserts("SEM-285");
  // 1, 2 and 3 rows for replicas 0, 1 and 2: 3 from each of replicas 0 and 1, and 1 + 2 from 2.
  EXPECT_THAT(traffic_of([](ReplicaContext& replica, const Row& all) {
                replica.all_to_all(std::vector{rows(all, 0, 1), rows(all, 1, 3), rows(all, 3, 6)});
              }),
              ElementsAre(Traffic{6}, Traffic{3}));
  EXPECT_THAT(
      traffic_of([](ReplicaContext& replica, const Row& all) { replica.broadcast(all, 2); }),
      ElementsAre(Traffic{0}, Traffic{6}));
  EXPECT_THAT(traffic_of([](ReplicaContext& replica, const Row& all) {
                replica.permute(all, {{2, 0}, {2, 1}, {1, 2}});
              }),
              ElementsAre(Traffic{6}, Traffic{6}));
  EXPECT_THAT(traffic_of([](ReplicaContext& replica, const Row& all) {
                replica.permute(all, {{1, 0}, {0, 1}});
              }),
              ElementsAre(Traffic{0}, Traffic{0}));
  EXPECT_THAT(traffic_of([](ReplicaContext& replica, const Row& all) {
                replica.scatter_from(std::vector{rows(all, 0, 1), rows(all, 1, 3), rows(all, 3, 6)},
                                     0);
              }),
              ElementsAre(Traffic{3}, Traffic{0}));
  EXPECT_THAT(traffic_of([](ReplicaContext& replica, const Row& all) {
                replica.scatter_from(all, Axis(0), 2, {1, 4, 1});
              }),
              ElementsAre(Traffic{0}, Traffic{5}));
  EXPECT_THAT(
      traffic_of([](ReplicaContext& replica, const Row& all) { replica.gather_to(all, 0); }),
      ElementsAre(Traffic{0}, Traffic{6}));
  EXPECT_THAT(traffic_of([](ReplicaContext& replica, const Row& all) {
                const Row joined = replica.all_gather(all);
                EXPECT_EQ(joined.shape(), (Shape{18, kFloats}));
              }),
              ElementsAre(Traffic{12}, Traffic{6}));
  EXPECT_THAT(traffic_of([](ReplicaContext& replica, const Row& all) {
                const auto merge = [](CrossReplicaContext& cross, const PerReplica<Row>& values) {
                  EXPECT_EQ(cross.gather(values).shape(), (Shape{18, kFloats}));
                };
                replica.merge_call(merge, all);
              }),
              ElementsAre(Traffic{12}, Traffic{6}));
}

// The communicator scatters. With a named order, rows go to the device that adds.
TEST(GpuExchanges, ReduceScatterStaysOnTheDevices) {
  testing::asserts("SEM-285", "SEM-261");
  const Exchange scatter = [](ReplicaContext& replica, const Row& all) {
    const Row part = replica.reduce_scatter(ReduceOp::kSum, all, Axis(0), {1, 2, 3});
    const Row elsewhere = replica.reduce_scatter(ReduceOp::kSum, all, Axis(1), {1, 23, 1000});
    EXPECT_EQ(part.placement(), replica.placement());
    EXPECT_EQ(elsewhere.shape(), (Shape{6, replica.replica_id() == 0   ? 1
                                           : replica.replica_id() == 1 ? 23
                                                                       : 1000}));
  };
  EXPECT_THAT(traffic_of(scatter), Each(Traffic{0, 2}));
  const Exchange by_row = [](ReplicaContext& replica, const Row& all) {
    replica.reduce_scatter(ReduceOp::kSum, all, Axis(0), {1, 2, 3});
  };
  EXPECT_THAT(traffic_of(by_row, {.order = ReductionOrder::kReplicaOrder}),
              ElementsAre(Traffic{6}, Traffic{3}));
}

// Replica r sends 10 r + i to replica i; the terms of replica r are r, and the sum of 5 is 10.
TEST(GpuExchanges, ServeDevicesThatShareAGpu) {
  testing::asserts("SEM-285");
  for (const std::uint64_t seed : {0, 1, 2}) {
    const sim::SimulatedDriver machine({.gpus = 4, .seed = seed});
    on_gpu_processes({.gpus = {{0, 1, 0}, {2}, {3}}}, [&](GpuProcess& process) {
      process.strategy.run([](ReplicaContext& replica) {
        const auto id = static_cast<float>(replica.replica_id());
        std::vector<Row> parts;
        for (int to = 0; to < 5; ++to) {
          parts.push_back(Row::full({to}, 10 * id + static_cast<float>(to)));
        }
        const std::vector<Row> got = replica.all_to_all(std::move(parts));
        for (std::size_t from = 0; from < 5; ++from) {
          EXPECT_EQ(got[from].to_host(), std::vector<float>(static_cast<std::size_t>(id),
                                                            10 * static_cast<float>(from) + id));
        }
        const Row sum = replica.reduce_scatter(ReduceOp::kSum, Row::full({7}, id), Axis(0));
        EXPECT_THAT(sum.to_host(), Each(10));
        EXPECT_THAT(replica.broadcast(Row::full({2}, id), 3).to_host(), Each(3));
      });
    });
    EXPECT_EQ(machine.reports(), std::vector<std::string>{});
  }
}

// Replica 1 takes no part; all others exchange on their devices.
TEST(GpuExchanges, SomeReplicasMayTakeNoPart) {
  testing::asserts("SEM-285", "SEM-260");
  const sim::SimulatedDriver machine({.gpus = 3});
  on_gpu_processes({.gpus = {{0, 1}, {2}}}, [&](GpuProcess& process) {
    const auto some = process.group.rank() == 0
                          ? PerReplica<int>::from({10, std::nullopt, std::nullopt})
                          : PerReplica<int>::from({std::nullopt, std::nullopt, 12});
    const auto got = process.strategy.run(
        [](ReplicaContext& replica, int value) {
          const auto own = Row::full({4}, static_cast<float>(value));
          std::vector<float> all = replica.reduce_scatter(ReduceOp::kSum, own, Axis(0)).to_host();
          all.push_back(replica.permute(own, {{2, 0}, {0, 2}})->to_host()[3]);
          return all;
        },
        some);
    if (process.group.rank() == 0) {
      EXPECT_THAT(got[0], ElementsAre(22, 22, 12));
    } else {
      EXPECT_THAT(got[2], ElementsAre(22, 22, 10));
    }
    EXPECT_GT(process.backend.statistics().exchange.bytes, 0U);
  });
  EXPECT_EQ(machine.reports(), std::vector<std::string>{});
}

}  // namespace
}  // namespace belfry::testing::gpu_exchanges
