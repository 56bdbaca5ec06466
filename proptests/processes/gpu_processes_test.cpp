// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Reductions of tensors on the GPUs of several processes, through an NCCL communicator over all
// processes: here on the simulated driver.
#include "processes/gpu_processes.h"

#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"
#include "processes/counting_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace belfry::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Texts = std::vector<std::string>;

// Each process with a GPU; unequal numbers; two devices of a process on the same GPU.
const std::vector<std::vector<std::vector<int>>> kMachines = {
    {{0}, {1}}, {{0, 1}, {2}}, {{2}, {0, 1}, {5, 3, 4}}, {{0, 0}, {1}}, {{0, 1, 0}, {2}, {3}}};

Tensor<float> value_of(const ReplicaContext& replica) {
  const auto own = static_cast<float>(1 + replica.replica_id());
  return Tensor<float>::from({3}, {own, 10 * own, -own});
}

// 1 + 2 + ... + n, ten times as much, and the opposite.
std::vector<float> sums_of(int n) {
  const auto sum = static_cast<float>(n * (n + 1) / 2);
  return {sum, 10 * sum, -sum};
}

TEST(GpuProcesses, AddTheTensorsOfAllReplicas) {
  testing::asserts("SEM-215", "SEM-151");
  for (const auto& gpus : kMachines) {
    for (const std::uint64_t seed : {0, 1, 2}) {
      const sim::SimulatedDriver machine({.gpus = 6, .seed = seed});
      const GpuProcesses processes{.gpus = gpus};
      const int n = processes.replicas();
      on_gpu_processes(processes, [&](GpuProcess& process) {
        const auto sums = process.strategy.run([](ReplicaContext& replica) {
          return replica.all_reduce(ReduceOp::kSum, value_of(replica)).to_host();
        });
        for (const std::vector<float>& sum : sums) EXPECT_EQ(sum, sums_of(n));
        EXPECT_EQ(process.backend.statistics().nccl_collectives, 1U);
      });
      EXPECT_EQ(machine.reports(), Texts{});
      EXPECT_EQ(machine.alive(), Texts{});
    }
  }
}

// The traffic of a sum of tensors of 256 KiB in a merge, after a first sum. The processes have two
// GPUs and a single GPU.
struct Traffic {
  std::size_t sent = 0;
  std::uint64_t host_reads = 0;
  std::uint64_t host_writes = 0;
  std::uint64_t collectives = 0;
};

Traffic traffic_of(const StrategyOptions& options) {
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
        const auto merge = [&](CrossReplicaContext& cross,
                               const PerReplica<Tensor<float>>& values) {
          const std::size_t sent = groups[rank]->sent;
          const cuda::Statistics before = process.backend.statistics();
          const auto sum = cross.reduce(ReduceOp::kSum, values);
          const cuda::Statistics after = process.backend.statistics();
          traffic[rank] = {groups[rank]->sent - sent, after.read.calls - before.read.calls,
                           after.write.calls - before.write.calls,
                           after.nccl_collectives - before.nccl_collectives};
          return sum;
        };
        for (int step = 0; step < 2; ++step) {
          process.strategy.run([&](ReplicaContext& replica) {
            const auto own = Tensor<float>::full({1 << 16}, value_of(replica).to_host()[0]);
            EXPECT_THAT(replica.merge_call(merge, own).to_host(), Each(6.0F));  // 1 + 2 + 3
          });
        }
      },
      wrap);
  EXPECT_EQ(machine.reports(), Texts{});
  EXPECT_EQ(traffic[0].collectives, traffic[1].collectives);
  Traffic all = traffic[0];
  all.sent += traffic[1].sent;
  all.host_reads += traffic[1].host_reads;
  all.host_writes += traffic[1].host_writes;
  return all;
}

TEST(GpuProcesses, LeaveTheElementsOnTheirDevices) {
  testing::asserts("SEM-215");
  const Traffic traffic = traffic_of({});
  EXPECT_LT(traffic.sent, 1000U);
  EXPECT_EQ(traffic.host_reads, 0U);
  EXPECT_EQ(traffic.host_writes, 0U);
  EXPECT_EQ(traffic.collectives, 1U);
}

// NCCL does not have the order: all elements are sent.
TEST(GpuProcesses, SendTheElementsForANamedOrder) {
  testing::asserts("SEM-215");
  const Traffic traffic = traffic_of({.order = ReductionOrder::kReplicaOrder});
  EXPECT_GE(traffic.sent, 3U * 65536 * sizeof(float));
  EXPECT_EQ(traffic.host_reads, 3U);
  EXPECT_EQ(traffic.collectives, 0U);
}

// 1e16 + 1 is 1e16: in replica order the sum is 0 + 2.
TEST(GpuProcesses, KeepTheBitsOfANamedOrder) {
  testing::asserts("SEM-215", "SEM-32");
  for (const bool by_algorithm : {false, true}) {
    const sim::SimulatedDriver machine({.gpus = 4});
    GpuProcesses processes{.gpus = {{0, 1}, {2, 3}}};
    if (by_algorithm) {
      processes.options.cross_device_ops = std::make_shared<ReductionToOneDevice>();
    } else {
      processes.options.order = ReductionOrder::kReplicaOrder;
    }
    on_gpu_processes(processes, [&](GpuProcess& process) {
      const double terms[] = {1e16, 1, -1e16, 2};
      const auto sums = process.strategy.run([&](ReplicaContext& replica) {
        const auto own = Tensor<double>::full({}, terms[replica.replica_id()]);
        return replica.all_reduce(ReduceOp::kSum, own).item();
      });
      EXPECT_THAT(std::vector<double>(sums.begin(), sums.end()), Each(2.0));
    });
    EXPECT_EQ(machine.calls("ncclAllReduce"), 0U) << "within the processes";
  }
}

// A number and two tensors of different types: a collective for each type.
TEST(GpuProcesses, ReduceStructures) {
  testing::asserts("SEM-215");
  using Step = std::tuple<double, std::vector<Tensor<float>>, std::map<std::string, Tensor<int>>>;
  const sim::SimulatedDriver machine({.gpus = 3});
  on_gpu_processes({.gpus = {{0}, {1, 2}}}, [&](GpuProcess& process) {
    const auto sums = process.strategy.run([](ReplicaContext& replica) {
      const Tensor<float> own = value_of(replica);
      const auto count = Tensor<int>::full({2, 2}, replica.replica_id());
      return replica.all_reduce(ReduceOp::kSum, Step(0.5, {own, own}, {{"count", count}}));
    });
    for (const auto& [number, tensors, counts] : sums) {
      EXPECT_EQ(number, 1.5);
      for (const auto& tensor : tensors) EXPECT_THAT(tensor.to_host(), ElementsAre(6, 60, -6));
      EXPECT_THAT(counts.at("count").to_host(), Each(3));
    }
    EXPECT_EQ(process.backend.statistics().nccl_collectives, 2U);
  });
  EXPECT_EQ(machine.reports(), Texts{});
}

// Different sizes in sequence, in random schedules of the streams: the driver reports calls of
// different collectives.
TEST(GpuProcesses, EnqueueInTheOrderOfTheProgram) {
  testing::asserts("SEM-216");
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    for (const cuda::Carrier carrier : {cuda::Carrier::kConcurrent, cuda::Carrier::kFiber}) {
      const sim::SimulatedDriver machine({.gpus = 4, .seed = seed});
      on_gpu_processes({.gpus = {{0, 1}, {2}, {3}}, .carrier = carrier}, [&](GpuProcess& process) {
        MultiWorkerMirroredStrategy second{process.backend, process.group};
        const auto work = [](ReplicaContext& replica) {
          std::vector<Tensor<int>> sums;
          for (int step = 1; step <= 8; ++step) {
            const auto own = Tensor<int>::full({step % 3 + 1}, step << replica.replica_id());
            sums.push_back(replica.all_reduce(ReduceOp::kSum, own));
          }
          for (int step = 8; step >= 1; --step) {
            const auto& sum = sums[static_cast<std::size_t>(step - 1)];
            EXPECT_THAT(sum.to_host(), Each(15 * step));  // 1 + 2 + 4 + 8 times
          }
        };
        process.strategy.run(work);
        second.run(work);
        process.strategy.run(work);
      });
      EXPECT_EQ(machine.reports(), Texts{});
    }
  }
}

// Process 1 has no GPUs: the elements are sent, from the first reduction on.
TEST(GpuProcesses, MeetProcessesOfOtherBackends) {
  testing::asserts("SEM-215");
  const sim::SimulatedDriver machine({.gpus = 2});
  run_processes(2, [](ProcessGroup& group) {
    std::unique_ptr<Backend> backend;
    if (group.rank() == 0) {
      // The backend of the host compares mirrored values too.
      backend = std::make_unique<cuda::Backend>(cuda::Options{.verify_mirrored = true});
    } else {
      backend = std::make_unique<HostBackend>(1);
    }
    MultiWorkerMirroredStrategy strategy{*backend, group};
    for (int step = 0; step < 2; ++step) {
      const auto sums = strategy.run([](ReplicaContext& replica) {
        return replica.all_reduce(ReduceOp::kSum, value_of(replica)).to_host();
      });
      for (const std::vector<float>& sum : sums) EXPECT_EQ(sum, sums_of(3));
    }
  });
  EXPECT_EQ(machine.calls("ncclGetUniqueId"), 0U);
}

// Replica r of three brings 1 + r: the sum is 6.
TEST(GpuProcesses, MayLackGpus) {
  testing::asserts("SEM-238");
  const sim::SimulatedDriver machine({.gpus = 3});
  for (const auto& gpus :
       std::vector<std::vector<std::vector<int>>>{{{}, {0, 1}, {2}}, {{0, 1}, {2}, {}}}) {
    on_gpu_processes({.gpus = gpus}, [](GpuProcess& process) {
      const auto weight = process.strategy.mirrored_variable(
          [] { return Tensor<float>::full({2}, 1); }, {.aggregation = Aggregation::kSum});
      const auto sums = process.strategy.run([&](ReplicaContext& replica) {
        const auto own = Tensor<float>::full({2}, 1.0F + static_cast<float>(replica.replica_id()));
        replica.assign_add(weight, own);
        return replica.all_reduce(ReduceOp::kSum, own).to_host();
      });
      EXPECT_EQ(sums.begin() == sums.end(), process.backend.device_count() == 0);
      for (const std::vector<float>& sum : sums) EXPECT_EQ(sum, std::vector<float>(2, 6));
      EXPECT_EQ(process.strategy.read(weight).to_host(), std::vector<float>(2, 7));
    });
  }
}

// NCCL refuses a GPU of two processes: the elements are sent.
TEST(GpuProcesses, ShareAGpu) {
  testing::asserts("SEM-215");
  const sim::SimulatedDriver machine({.gpus = 2});
  on_gpu_processes({.gpus = {{0, 1}, {1}}}, [&](GpuProcess& process) {
    for (int step = 0; step < 2; ++step) {
      const auto sums = process.strategy.run([](ReplicaContext& replica) {
        return replica.all_reduce(ReduceOp::kSum, value_of(replica)).to_host();
      });
      for (const std::vector<float>& sum : sums) EXPECT_EQ(sum, sums_of(3));
    }
  });
  EXPECT_EQ(machine.calls("ncclGetUniqueId"), 1U) << "the attempt is not repeated";
}

TEST(GpuProcesses, CompareStructuresBeforeDataMoves) {
  testing::asserts("SEM-152", "SEM-215");
  const sim::SimulatedDriver machine({.gpus = 2});
  Texts texts(2);
  on_gpu_processes({.gpus = {{0}, {1}}}, [&](GpuProcess& process) {
    try {
      process.strategy.run([](ReplicaContext& replica) {
        const auto own = Tensor<float>::full({replica.replica_id() + 2}, 1.0F);
        return replica.all_reduce(ReduceOp::kSum, own);
      });
    } catch (const StructureMismatchError& error) {
      texts[static_cast<std::size_t>(process.group.rank())] = error.what();
    }
    const auto sums = process.strategy.run([](ReplicaContext& replica) {
      return replica.all_reduce(ReduceOp::kSum, value_of(replica)).to_host();
    });
    EXPECT_EQ(*sums.begin(), sums_of(2));
  });
  EXPECT_THAT(texts, Each(AllOf(HasSubstr("BF-020"), HasSubstr("brings tensor float32[2]"),
                                HasSubstr("brings tensor float32[3]"))));
  EXPECT_EQ(machine.calls("ncclAllReduce"), 2U) << "of the second run alone";
}

}  // namespace
}  // namespace belfry::testing
