// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Facts about the reference systems' several workers, on simulated clusters.
#include "belfry/belfry.h"
#include "belfry/cross_device_ops.h"
#include "belfry/indexed_slices.h"
#include "belfry/sim/cluster.h"
#include "belfry/testing/asserts.h"
#include "suites/text_of_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::testing::conformance_hosts {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Body = std::function<void(MultiWorkerMirroredStrategy&, ProcessGroup&)>;

// A cluster of `hosts` hosts with `devices` devices each.
void on_workers(int hosts, int devices, const Body& body, const StrategyOptions& options = {}) {
  sim::Cluster cluster{{.hosts = hosts, .devices = devices, .seed = 3}};
  cluster.run([&](sim::Host& host) {
    MultiWorkerMirroredStrategy strategy{host.backend(), host.group(), options};
    body(strategy, host.group());
  });
}

// T: the shares of all replicas, step after step. Elements are their numbers.
template <class T>
using Steps = std::vector<std::vector<T>>;
using Batch = std::vector<int>;

// `distributed(strategy, group)` on each of the hosts.
template <class T, class F>
Steps<T> steps_of(int hosts, int devices, const F& distributed) {
  std::vector<Steps<T>> by_host(static_cast<std::size_t>(hosts));
  on_workers(hosts, devices, [&](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
    for (const PerReplica<T>& step : distributed(strategy, group)) {
      by_host[static_cast<std::size_t>(group.rank())].emplace_back(step.begin(), step.end());
    }
  });
  Steps<T> all = by_host.front();
  for (std::size_t host = 1; host < by_host.size(); ++host) {
    EXPECT_EQ(by_host[host].size(), all.size()) << "host " << host;
    for (std::size_t step = 0; step < all.size(); ++step) {
      const std::vector<T>& own = by_host[host].at(step);
      all[step].insert(all[step].end(), own.begin(), own.end());
    }
  }
  return all;
}

// Each process shares out its part of the data over its replicas.
DistributeOptions own_part(const ProcessGroup& group, EndOfData end) {
  return {.end_of_data = end,
          .elements = ElementUse::kPerReplica,
          .num_workers = group.size(),
          .worker = group.rank()};
}

constexpr auto kDrop = EndOfData::kDropPartialStep;
constexpr auto kPad = EndOfData::kPadWithEmpties;

// A function of each process that returns all of the data.
template <class T>
auto of_function(const Dataset<T>& data, EndOfData end) {
  return [data, end](MultiWorkerMirroredStrategy& strategy, ProcessGroup&) {
    return strategy.distribute_datasets_from_function([&](const InputContext&) { return data; },
                                                      {.end_of_data = end});
  };
}

TEST(HostConformance, T07_WorkersTakeTurns) {
  testing::asserts("SEM-185");
  const auto whole = [](MultiWorkerMirroredStrategy& strategy, ProcessGroup&) {
    return strategy.distribute_dataset(Dataset<int>::range(4),
                                       {.end_of_data = kDrop, .elements = ElementUse::kPerReplica});
  };
  EXPECT_THAT(steps_of<int>(2, 1, whole), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
}

TEST(HostConformance, T08_T09_AFunctionFeedsEachWorker) {
  testing::asserts("SEM-185");
  EXPECT_THAT(
      steps_of<int>(2, 1, of_function(Dataset<int>::range(4), kDrop)),
      ElementsAre(ElementsAre(0, 0), ElementsAre(1, 1), ElementsAre(2, 2), ElementsAre(3, 3)));
}

// Overridden: the program calls `shard`. Of a dataset that is the same in all processes, replica r
// takes share r of each step.
TEST(HostConformance, T10_TwoWorkersOfTwoGetTheEvenAndTheOdd) {
  testing::asserts("SEM-185");
  const auto sharded = [](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
    return strategy.distribute_dataset(Dataset<int>::range(4).shard(group.size(), group.rank()),
                                       own_part(group, kDrop));
  };
  EXPECT_THAT(steps_of<int>(2, 2, sharded), ElementsAre(ElementsAre(0, 2, 1, 3)));
  const auto whole = [](MultiWorkerMirroredStrategy& strategy, ProcessGroup&) {
    return strategy.distribute_dataset(Dataset<int>::range(4),
                                       {.end_of_data = kDrop, .elements = ElementUse::kPerReplica});
  };
  EXPECT_THAT(steps_of<int>(2, 2, whole), ElementsAre(ElementsAre(0, 1, 2, 3)));
}

TEST(HostConformance, T11_AnInputFunctionIsNotSharded) {
  testing::asserts("SEM-185");
  EXPECT_THAT(steps_of<int>(2, 2, of_function(Dataset<int>::range(4), kDrop)),
              ElementsAre(ElementsAre(0, 1, 0, 1), ElementsAre(2, 3, 2, 3)));
}

auto sharded_batches(int elements) {
  return [elements](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
    const auto batches = Dataset<int>::range(elements).batch(2);
    return strategy.distribute_dataset(batches.shard(group.size(), group.rank()),
                                       own_part(group, kPad));
  };
}

// Overridden: as above.
TEST(HostConformance, T13_WorkersAgreeOnTheLastStep) {
  testing::asserts("SEM-185");
  EXPECT_THAT(steps_of<Batch>(2, 2, sharded_batches(9)),
              ElementsAre(std::vector<Batch>{{0, 1}, {4, 5}, {2, 3}, {6, 7}},
                          std::vector<Batch>{{8}, {}, {}, {}}));
  EXPECT_THAT(steps_of<Batch>(2, 2, of_function(Dataset<int>::range(9).batch(2), kPad)),
              ElementsAre(std::vector<Batch>{{0, 1}, {2, 3}, {0, 1}, {2, 3}},
                          std::vector<Batch>{{4, 5}, {6, 7}, {4, 5}, {6, 7}},
                          std::vector<Batch>{{8}, {}, {8}, {}}));
}

// Overridden: as above.
TEST(HostConformance, T14_TheLastBatchIsOneWorkers) {
  testing::asserts("SEM-185");
  EXPECT_THAT(steps_of<Batch>(2, 1, sharded_batches(5)),
              ElementsAre(std::vector<Batch>{{0, 1}, {2, 3}}, std::vector<Batch>{{4}, {}}));
}

TEST(HostConformance, T16_WorkersMayHaveDifferentData) {
  testing::asserts("SEM-185");
  const auto different = [](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
    return strategy.distribute_dataset(Dataset<int>::range(8 + group.rank()).batch(2),
                                       own_part(group, kPad));
  };
  const auto steps = steps_of<Batch>(2, 2, different);
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_THAT(steps[2], ElementsAre(Batch{}, Batch{}, Batch{8}, Batch{}));
}

// Overridden: each process computes on devices of its own: in the scope of a strategy, tensors
// without a named device are on the first device of the process.
TEST(HostConformance, DEV_07_WhatNamesNoDeviceIsOnTheFirstOfTheProcess) {
  testing::asserts("SEM-16");
  on_workers(2, 2, [](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
    const Scope scope = strategy.scope();
    const Tensor<float> unnamed = Tensor<float>::zeros({1});
    EXPECT_EQ(unnamed.placement(), strategy.placement(2 * group.rank()));
    EXPECT_EQ(unnamed.placement().device, 0);
  });
}

TEST(HostConformance, DEV_08_WorkersTimesDevicesAreInSync) {
  testing::asserts("SEM-150");
  for (const int devices : {1, 3}) {
    on_workers(2, devices, [&](MultiWorkerMirroredStrategy& strategy, ProcessGroup&) {
      EXPECT_EQ(strategy.num_replicas(), 2 * devices);
      EXPECT_EQ(strategy.worker_devices().size(), static_cast<std::size_t>(devices));
    });
  }
}

// Overridden: a process has the components of its own replicas; name, type and aggregation are
// known in every process.
TEST(HostConformance, VAR_25_OnAnotherProcess) {
  testing::asserts("SEM-159");
  on_workers(2, 1, [](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
    const auto table = [] { return Tensor<double>::full({2, 3}, 1.0); };
    const auto mean =
        strategy.mirrored_variable(table, {.name = "mean", .aggregation = Aggregation::kMean});
    const auto local = strategy.replica_local_variable(ReduceOp::kMean, table, {.name = "local"});
    EXPECT_EQ(mean.name(), "mean");
    EXPECT_EQ(mean.aggregation(), Aggregation::kMean);
    EXPECT_EQ(local.aggregation(), Aggregation::kMean);
    const auto components = strategy.local_values(local);
    EXPECT_EQ(components[group.rank()].shape(), Shape({2, 3}));
    EXPECT_FALSE(components.has(1 - group.rank()));
  });
}

// The exception of worker 0 if worker 1 never calls `verb`, and ends.
template <class Verb>
std::string text_without_worker_one(const Verb& verb) {
  std::string text;
  on_workers(2, 1, [&](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
    if (group.rank() == 1) return;
    text = text_of_error<ProcessLostError>([&] { strategy.run(verb); });
  });
  return text;
}

// Overridden: no time passes on a cluster: worker 0 is told as soon as worker 1 has ended.
TEST(HostConformance, A20_A21_AMissingWorkerOfADenseReduction) {
  testing::asserts("SEM-155");
  EXPECT_THAT(text_without_worker_one([](ReplicaContext& replica) {
                replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({2}, 1.0F));
              }),
              HasSubstr("BF-070 process 1 has left"));
  EXPECT_THAT(text_without_worker_one([](ReplicaContext& replica) {
                const auto one = Tensor<float>::full({2}, 1.0F);
                replica.all_reduce(ReduceOp::kSum, std::tuple(one, one));
              }),
              HasSubstr("BF-070 process 1 has left"));
}

IndexedSlices<float> slices(const std::vector<float>& values, const std::vector<int>& rows,
                            std::int64_t all, std::int64_t columns) {
  const std::vector<std::int64_t> indices(rows.begin(), rows.end());
  const auto count = static_cast<std::int64_t>(rows.size());
  return indexed_slices(Tensor<float>::from({count, columns}, values),
                        Tensor<std::int64_t>::from({count}, indices), Shape{all, columns});
}

// Overridden: as above.
TEST(HostConformance, A22_A23_AMissingWorkerOfASparseReduction) {
  testing::asserts("SEM-155");
  EXPECT_THAT(text_without_worker_one([](ReplicaContext& replica) {
                all_reduce_slices(replica, ReduceOp::kSum, slices({4, 6}, {1}, 3, 2));
              }),
              HasSubstr("BF-070 process 1 has left"));
}

// The sum and the mean of `first`, `first` + 1, ... of the devices of each worker, for every size
// of packs, also in ring order, to every kind of destination.
void expect_reduced(int devices, float first, float sum, float mean) {
  std::vector<StrategyOptions> all{{}, {.order = ReductionOrder::kRing}};
  for (const std::int64_t bytes : {0, 1, 4}) {
    all.push_back({.cross_device_ops = in_packs(std::make_shared<ReductionToOneDevice>(),
                                                {.bytes_per_tensor = 0, .bytes_per_pack = bytes})});
  }
  for (const StrategyOptions& options : all) {
    const auto body = [&](MultiWorkerMirroredStrategy& strategy, ProcessGroup&) {
      CrossReplicaContext& cross = strategy.cross_replica();
      const auto value = strategy.distribute_values(
          [&](int id) { return Tensor<float>::full({1}, first + float(id % devices)); });
      const auto variable = strategy.mirrored_variable(0.0F);
      const DeviceSpec last = strategy.worker_devices().back();
      for (const auto& [op, wanted] : {std::pair{ReduceOp::kSum, sum}, {ReduceOp::kMean, mean}}) {
        EXPECT_EQ(cross.reduce(op, value).value().item(), wanted);
        EXPECT_EQ(cross.reduce(op, value, last)[0].item(), wanted);
        EXPECT_EQ(cross.reduce(op, value, variable)[0].item(), wanted);
        EXPECT_EQ(cross.reduce(op, value, to_string(last))[0].item(), wanted);
        EXPECT_EQ(cross.reduce(op, value, strategy.worker_devices())[0].item(), wanted);
      }
    };
    on_workers(3, devices, body, options);
  }
}

TEST(HostConformance, A24_ThreeWorkers) {
  testing::asserts("SEM-153");
  expect_reduced(1, 0, 0, 0);
  expect_reduced(1, 1, 3, 1);
}

TEST(HostConformance, A25_ThreeWorkersOfTwo) {
  testing::asserts("SEM-153");
  expect_reduced(2, 0, 3, 0.5F);
  expect_reduced(2, 1, 9, 1.5F);
}

using Parts = std::vector<std::pair<std::vector<float>, std::vector<int>>>;

// The dense sum of slices of six replicas, of three workers, on each worker.
std::vector<std::vector<float>> dense_sums(const Parts& parts) {
  std::vector<std::vector<float>> sums(3);
  on_workers(3, 2, [&](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
    const auto all = strategy.run([&](ReplicaContext& replica) {
      const auto& [values, rows] = parts[static_cast<std::size_t>(replica.replica_id())];
      return all_reduce_slices(replica, ReduceOp::kSum, slices(values, rows, 10, 2));
    });
    sums[static_cast<std::size_t>(group.rank())] = to_dense(*all.begin()).to_host();
  });
  return sums;
}

TEST(HostConformance, A26_ARowFromEachOfSix) {
  testing::asserts("SEM-153");
  const Parts parts{{{1, 2}, {1}}, {{3, 4}, {2}}, {{2, 1}, {3}},
                    {{0, 0}, {4}}, {{3, 1}, {5}}, {{2, 1}, {6}}};
  EXPECT_THAT(dense_sums(parts),
              Each(ElementsAre(0, 0, 1, 2, 3, 4, 2, 1, 0, 0, 3, 1, 2, 1, 0, 0, 0, 0, 0, 0)));
}

TEST(HostConformance, A27_SomeRowsFromEachOfSix) {
  testing::asserts("SEM-153");
  const Parts parts{{{1, 2, 3, 4}, {1, 2}}, {{3, 4}, {2}},          {{2, 1}, {3}},
                    {{0, 0}, {4}},          {{3, 1, 2, 1}, {5, 6}}, {{2, 1}, {6}}};
  EXPECT_THAT(dense_sums(parts),
              Each(ElementsAre(0, 0, 1, 2, 6, 8, 2, 1, 0, 0, 3, 1, 4, 2, 0, 0, 0, 0, 0, 0)));
}

// Overridden: groups have no keys. A group is a strategy, and a member is a device of a process; a
// process knows its own devices alone.
TEST(HostConformance, A29_DevicesThatAreNotOfTheProcess) {
  testing::asserts("SEM-150");
  on_workers(2, 1, [](MultiWorkerMirroredStrategy& strategy, ProcessGroup&) {
    DeviceSpec absent = strategy.backend().device_spec(0);
    absent.index = 1;
    const auto one = strategy.distribute_values([](int) { return 1.0; });
    EXPECT_THROW(strategy.cross_replica().reduce(ReduceOp::kSum, one, absent),
                 InvalidArgumentError);
  });
}

// Overridden: rounds have no keys. Messages count the rounds of each member from 1.
TEST(HostConformance, A30_RoundsAreCounted) {
  testing::asserts("SEM-152");
  for (const int round : {1, 2, 3}) {
    std::vector<std::string> texts(2);
    on_workers(2, 1, [&](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
      try {
        strategy.run([&](ReplicaContext& replica) {
          const int rounds = replica.replica_id() == 0 ? round : round - 1;
          for (int i = 0; i < rounds; ++i) replica.all_reduce(ReduceOp::kSum, 1.0F);
        });
      } catch (const MergeMismatchError& error) {
        texts[static_cast<std::size_t>(group.rank())] = error.what();
      }
    });
    EXPECT_THAT(texts, Each(HasSubstr("waits in all_reduce #" + std::to_string(round))));
  }
}

}  // namespace
}  // namespace belfry::testing::conformance_hosts
