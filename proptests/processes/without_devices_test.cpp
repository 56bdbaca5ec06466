// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Processes without devices, over three hosts: in most tests two hosts with three replicas
// together, and each of the three places for the host without devices. Outcomes are worked out by
// hand.
#include "belfry/belfry.h"
#include "belfry/sim/cluster.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"
#include "belfry/testing/thread_group.h"
#include "words/temporary_folder_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace belfry::testing::without_devices {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// `has_devices` is false on a single host; the replicas 0 and 1 are on one host, and 2 on another.
using OnHost = std::function<void(MultiWorkerMirroredStrategy&, ProcessGroup&, bool has_devices)>;

void on_clusters(const OnHost& body) {
  const std::vector<std::vector<int>> clusters{{2, 0, 1}, {0, 2, 1}, {2, 1, 0}};
  for (const std::vector<int>& devices_of : clusters) {
    sim::Cluster cluster{{.devices_of = devices_of, .seed = 3}};
    cluster.run([&](sim::Host& host) {
      MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
      body(strategy, host.group(), host.backend().device_count() > 0);
    });
  }
}

TEST(WithoutDevices, AStrategyIsMade) {
  testing::asserts("SEM-213");
  on_clusters([](MultiWorkerMirroredStrategy& strategy, ProcessGroup&, bool has_devices) {
    EXPECT_EQ(strategy.num_replicas(), 3);
    EXPECT_EQ(strategy.devices().empty(), !has_devices);
    EXPECT_EQ(strategy.worker_devices().empty(), !has_devices);
  });
}

TEST(WithoutDevices, ResultsAreEmpty) {
  testing::asserts("SEM-213");
  on_clusters([](MultiWorkerMirroredStrategy& strategy, ProcessGroup&, bool has_devices) {
    int calls = 0;
    const auto sums = strategy.run([&](ReplicaContext& replica) {
      ++calls;
      const auto one = Tensor<float>::full({1}, 1.0F + replica.replica_id());
      return replica.all_reduce(ReduceOp::kSum, one).item();
    });
    EXPECT_EQ(sums.size(), 3);
    EXPECT_EQ(sums.begin() == sums.end(), !has_devices);
    EXPECT_EQ(calls == 0, !has_devices);
    for (const float sum : sums) EXPECT_EQ(sum, 6);
    // Between runs every process gets the values of all.
    CrossReplicaContext& cross = strategy.cross_replica();
    EXPECT_EQ(cross.reduce(ReduceOp::kSum, sums).value(), 18);
    const auto own = strategy.distribute_values(
        [](int id) { return Tensor<float>::full({id + 1}, static_cast<float>(id)); });
    EXPECT_THAT(cross.gather(own).to_host(), ElementsAre(0, 1, 1, 2, 2, 2));
    EXPECT_EQ(cross.reduce(ReduceOp::kMean, own, Axis(0)).value().item(), 8.0F / 6);
  });
}

TEST(WithoutDevices, VariablesAreReadAndUpdated) {
  testing::asserts("SEM-213");
  on_clusters([](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group, bool has_devices) {
    const int rank = group.rank();
    int calls = 0;
    // The process of replica 0 has the rank 0 or 1.
    const auto first = strategy.mirrored_variable(
        [&] {
          ++calls;
          return Tensor<double>::full({2}, 5);
        },
        {.aggregation = Aggregation::kMean});
    EXPECT_EQ(calls, has_devices && strategy.cross_replica().core().own().has(0) ? 1 : 0) << rank;
    const auto count = strategy.replica_local_variable(ReduceOp::kSum, 1);
    strategy.run([&](ReplicaContext& replica) {
      replica.assign_add(first, Tensor<double>::full({2}, replica.replica_id()));
      replica.assign_add(count, replica.replica_id());
    });
    EXPECT_THAT(strategy.read(first).to_host(), ElementsAre(6, 6));  // The mean of 0, 1, 2 is 1.
    EXPECT_EQ(strategy.read(count), 6);
    const auto own = strategy.local_values(first);
    EXPECT_EQ(own.begin() == own.end(), !has_devices);
    CrossReplicaContext& cross = strategy.cross_replica();
    cross.update(
        first, [](Tensor<double>& one, double by) { one = one * by; }, cross.broadcast(2.0));
    EXPECT_THAT(strategy.read(first).to_host(), ElementsAre(12, 12));
    EXPECT_EQ(cross.fetch(count), 6);
    cross.assign_total(count, 9);
    EXPECT_EQ(strategy.read(count), 9);
  });
}

TEST(WithoutDevices, BroadcastsComeFromTheProcessOfReplicaZero) {
  testing::asserts("SEM-213");
  on_clusters([](MultiWorkerMirroredStrategy& strategy, ProcessGroup&, bool) {
    const bool is_first = strategy.cross_replica().core().own().has(0);
    EXPECT_EQ(strategy.cross_replica().broadcast(is_first ? 7 : 8).value(), 7);
    EXPECT_EQ(strategy.read(strategy.mirrored_variable([&] { return is_first ? 7 : 8; })), 7);
  });
}

TEST(WithoutDevices, CheckpointsAreWritten) {
  testing::asserts("SEM-213");
  const TemporaryFolder folder;
  on_clusters([&](MultiWorkerMirroredStrategy& strategy, ProcessGroup&, bool) {
    const auto weight =
        strategy.mirrored_variable([] { return Tensor<double>::full({1}, 4); }, {.name = "weight"});
    const auto count = strategy.replica_local_variable(ReduceOp::kSum, 2, {.name = "count"});
    Checkpoint checkpoint(strategy);
    checkpoint.add(weight).add(count);
    checkpoint.save(folder / "weights");
    strategy.cross_replica().update(weight, [](Tensor<double>& own) { own = own + 1; });
    strategy.cross_replica().assign_total(count, 0);
    checkpoint.restore(folder / "weights");
    EXPECT_EQ(strategy.read(weight).item(), 4);
    EXPECT_EQ(strategy.read(count), 6);
  });
}

TEST(WithoutDevices, DatasetsHaveNoShares) {
  testing::asserts("SEM-213");
  on_clusters([](MultiWorkerMirroredStrategy& strategy, ProcessGroup&, bool has_devices) {
    int steps = 0;
    std::vector<int> totals;
    for (const auto& step : strategy.distribute_dataset(
             Dataset<int>::range(7).batch(3), {.end_of_data = EndOfData::kMaskReplicas})) {
      ++steps;
      EXPECT_TRUE(has_devices || step.begin() == step.end());
      const auto sums = strategy.run(
          [](ReplicaContext& replica, const std::vector<int>& share) {
            return replica.all_reduce(ReduceOp::kSum, share.front());
          },
          step);
      totals.insert(totals.end(), sums.begin(), sums.end());
    }
    // 0 + 1 + 2, 3 + 4 + 5, and 6 on replica 0 alone.
    EXPECT_EQ(steps, 3);
    if (strategy.cross_replica().core().own().has(0)) {
      EXPECT_THAT(totals, ElementsAre(3, 3, 12, 12, 6));
    }
  });
}

TEST(WithoutDevices, InputFunctionsAreNotCalled) {
  testing::asserts("SEM-213");
  on_clusters([](MultiWorkerMirroredStrategy& strategy, ProcessGroup&, bool has_devices) {
    std::vector<std::string> contexts;
    const auto make = [&](const InputContext& context) {
      contexts.push_back(to_string(context));
      // Two elements for each replica: the pipelines have two replicas and one.
      const int elements = context.input_pipeline_id == 0 ? 4 : 2;
      return Dataset<int>::range(elements).batch(1);
    };
    int steps = 0;
    for (const auto policy : {EndOfData::kDropPartialStep, EndOfData::kPadWithEmpties}) {
      for (const auto& step :
           strategy.distribute_datasets_from_function(make, {.end_of_data = policy})) {
        ++steps;
        EXPECT_EQ(step.begin() == step.end(), !has_devices);
      }
    }
    EXPECT_EQ(steps, 4);
    if (!has_devices) {
      EXPECT_THAT(contexts, IsEmpty());
      return;
    }
    const bool is_first = strategy.cross_replica().core().own().has(0);
    const std::string context =
        std::string("input pipeline ") + (is_first ? "0" : "1") + " of 2, 3 replicas in sync";
    EXPECT_THAT(contexts, ElementsAre(context, context));
  });
}

TEST(WithoutDevices, BackendsOfProgramsHaveNone) {
  testing::asserts("SEM-238");
  // Process 1 has the replicas 0 and 1; the others have a simulator and a host without devices.
  run_processes(3, [](ProcessGroup& group) {
    sim::Backend simulated{{.devices = group.rank() == 1 ? 2 : 0}, sim::Attachments{}};
    HostBackend host(0);
    Backend& backend = group.rank() == 2 ? static_cast<Backend&>(host) : simulated;
    EXPECT_EQ(backend.device_count(), group.rank() == 1 ? 2 : 0);
    MultiWorkerMirroredStrategy strategy{backend, group};
    EXPECT_EQ(strategy.num_replicas(), 2);
    const auto weight = strategy.mirrored_variable([] { return Tensor<double>::full({2}, 5); },
                                                   {.aggregation = Aggregation::kSum});
    strategy.run([&](ReplicaContext& replica) {
      replica.assign_add(weight, Tensor<double>::full({2}, 1 + replica.replica_id()));
    });
    EXPECT_THAT(strategy.read(weight).to_host(), ElementsAre(8, 8));
    const auto values = strategy.distribute_values([](int id) { return 10.0 + id; });
    EXPECT_EQ(strategy.cross_replica().reduce(ReduceOp::kSum, values).value(), 21);
    strategy.cross_replica().update(weight, [](Tensor<double>& own) { own = own * 2; });
    EXPECT_THAT(strategy.read(weight).to_host(), ElementsAre(16, 16));
  });
}

TEST(WithoutDevices, AStrategyOfOneProcessIsRefused) {
  testing::asserts("SEM-238");
  sim::Backend simulated{{.devices = 0}, sim::Attachments{}};
  EXPECT_EQ(code_of([&] { MirroredStrategy{simulated}; }), ErrorCode::kNoDevices);
  HostBackend host(0);
  EXPECT_EQ(code_of([&] { MirroredStrategy{host}; }), ErrorCode::kNoDevices);
  EXPECT_EQ(code_of([&] { CentralStorageStrategy{host}; }), ErrorCode::kNoDevices);
  EXPECT_EQ(code_of([&] { host.communicator({}); }), ErrorCode::kNoDevices);
  EXPECT_EQ(code_of([&] { host.device(1); }), ErrorCode::kUnknownDevice);
  run_processes(1, [&](ProcessGroup& group) {
    EXPECT_EQ(code_of([&] { MultiWorkerMirroredStrategy(host, group); }), ErrorCode::kNoDevices);
  });
}

TEST(WithoutDevices, AllProcessesAreRefused) {
  testing::asserts("SEM-213");
  sim::Cluster cluster{{.devices_of = {0, 0}}};
  cluster.run([](sim::Host& host) {
    const auto make = [&] { MultiWorkerMirroredStrategy(host.backend(), host.group()); };
    EXPECT_EQ(code_of(make), ErrorCode::kNoDevices);
    EXPECT_EQ(code_of([&] { MirroredStrategy(host.backend()); }), ErrorCode::kNoDevices);
  });
}

}  // namespace
}  // namespace belfry::testing::without_devices
