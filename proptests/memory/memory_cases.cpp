// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/executor.h"
#include "belfry/checkpoint.h"
#include "belfry/dataset.h"
#include "belfry/distributed_dataset.h"
#include "belfry/launch.h"
#include "belfry/tensor_ops.h"
#include "memory/memory_case.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <new>
#include <span>
#include <stdexcept>
#include <utility>

namespace belfry::testing {
namespace {

bool is_last(const ReplicaContext& replica) {
  return replica.replica_id() + 1 == replica.num_replicas();
}

template <class T>
const T& last_of(const PerReplica<T>& values) {
  return *(values.end() - 1);
}

void reduce_hosts_and_tensors(MemoryFixture& fixture) {
  const auto sums = fixture.strategy->run([&](ReplicaContext& replica) {
    const auto tensor = replica.all_reduce(ReduceOp::kSum, fixture.weights.on(replica));
    const double host = replica.all_reduce(ReduceOp::kMean, 1.0 + replica.replica_id());
    return host + tensor.to_host()[0];
  });
  EXPECT_EQ(sums[0], last_of(sums));
}

// z = x, by way of scratch memory.
struct CopyThroughScratch {
  void on_host(std::span<float> z, std::span<std::byte> memory, std::span<const float> x) const {
    std::memcpy(memory.data(), x.data(), x.size_bytes());
    std::memcpy(z.data(), memory.data(), z.size_bytes());
  }
};

struct WritesAndThrows {
  void on_host(std::span<float> x) const {
    x[0] = -1;
    throw std::runtime_error("the exception of a body, of some length");
  }
};

void launch_kernels(MemoryFixture& fixture) {
  fixture.strategy->run([&](ReplicaContext& replica) {
    auto copy = fixture.weights.on(replica);  // Shared, and replaced by the launch.
    launch(CopyThroughScratch(), writes(copy), scratch(copy.any().bytes()),
           reads(fixture.weights.on(replica)));
    EXPECT_EQ(copy.to_host(), fixture.weights.on(replica).to_host());
  });
}

void launch_a_kernel_that_throws(MemoryFixture& fixture) {
  fixture.strategy->run([&](ReplicaContext& replica) {
    auto copy = fixture.weights.on(replica);
    if (is_last(replica)) launch(WritesAndThrows(), updates(copy));
    static_cast<void>(replica.all_reduce(ReduceOp::kSum, copy).to_host());
  });
}

void merge_with_updates(MemoryFixture& fixture) {
  fixture.strategy->run([&](ReplicaContext& replica) {
    const auto sum = replica.all_reduce(ReduceOp::kSum, fixture.weights.on(replica));
    replica.merge_call([&](CrossReplicaContext& cross) { advance(cross, fixture); });
    static_cast<void>(sum.to_host());
  });
}

void change_in_a_transaction(MemoryFixture& fixture) {
  fixture.strategy->transaction([&] { advance(fixture.strategy->cross_replica(), fixture); });
}

void run_in_a_merge(MemoryFixture& fixture) {
  fixture.strategy->run([&](ReplicaContext& replica) {
    replica.merge_call([](CrossReplicaContext& cross) {
      const auto inner =
          cross.run([](ReplicaContext& nested) { return nested.all_reduce(ReduceOp::kSum, 1.0); });
      EXPECT_EQ(inner[0], last_of(inner));
    });
  });
}

void throw_in_a_replica(MemoryFixture& fixture) {
  fixture.strategy->run([](ReplicaContext& replica) {
    if (is_last(replica)) throw std::runtime_error("a replica's own, of some length");
    replica.all_reduce(ReduceOp::kSum, 1.0);
  });
}

void throw_in_every_replica(MemoryFixture& fixture) {
  fixture.strategy->run([](ReplicaContext& replica) {
    replica.merge_call([](CrossReplicaContext&) {});
    throw std::runtime_error("a replica's own, of some length");
  });
}

void throw_in_a_merge(MemoryFixture& fixture) {
  fixture.strategy->run([](ReplicaContext& replica) {
    replica.merge_call(
        [](CrossReplicaContext&) { throw std::runtime_error("a merge's own, of some length"); });
  });
}

void cancel_by_hand(MemoryFixture& fixture) {
  fixture.strategy->run([](ReplicaContext&) { throw ReplicaCancelled{}; });
}

void miss_a_merge(MemoryFixture& fixture) {
  fixture.strategy->run([](ReplicaContext& replica) {
    if (replica.replica_id() == 0) replica.merge_call([](CrossReplicaContext&) {});
  });
}

void meet_at_two_places(MemoryFixture& fixture) {
  fixture.strategy->run([](ReplicaContext& replica) {
    if (replica.replica_id() == 0) {
      replica.all_reduce(ReduceOp::kSum, 1.0);
    } else {
      replica.all_reduce(ReduceOp::kSum, 2.0);
    }
  });
}

void meet_with_two_types(MemoryFixture& fixture) {
  const auto reduce = [](ReplicaContext& replica, auto value) {
    replica.all_reduce(ReduceOp::kSum, value);
  };
  fixture.strategy->run([&](ReplicaContext& replica) {
    if (replica.replica_id() == 0) {
      reduce(replica, 1.0);
    } else {
      reduce(replica, 1.0F);
    }
  });
}

void reduce_two_lengths(MemoryFixture& fixture) {
  fixture.strategy->run([](ReplicaContext& replica) {
    const auto length = static_cast<std::size_t>(replica.replica_id() + 1);
    replica.all_reduce(ReduceOp::kSum, std::vector<double>(length, 1.0));
  });
}

void make_two_variables_in_one(MemoryFixture& fixture) {
  fixture.strategy->run([&](ReplicaContext& replica) {
    fixture.strategy->mirrored_variable(1.0, {.name = "v", .trainable = replica.replica_id() == 0});
  });
}

void make_variables_on_one_replica(MemoryFixture& fixture) {
  fixture.strategy->run([&](ReplicaContext& replica) {
    if (replica.replica_id() == 0) fixture.strategy->mirrored_variable(1.0, {.name = "v"});
    replica.merge_call([](CrossReplicaContext&) {});
  });
}

void ask_for_what_nobody_makes(MemoryFixture& fixture) {
  fixture.strategy->run([&](ReplicaContext& replica) {
    if (replica.replica_id() == 1) fixture.strategy->mirrored_variable(1.0, {.name = "v"});
    replica.merge_call([](CrossReplicaContext&) {});
  });
}

void wait_for_ever(MemoryFixture& fixture) {
  Gate gate;
  fixture.strategy->run([&](ReplicaContext& replica) {
    if (is_last(replica)) {
      fixture.strategy->backend().executor().block_until({.kind = OperationKind::kWait}, gate);
    }
    replica.merge_call([](CrossReplicaContext&) {});
  });
}

void swallow_cancellation(MemoryFixture& fixture) {
  fixture.strategy->run([](ReplicaContext& replica) {
    if (replica.replica_id() == 0) throw std::runtime_error("a replica's own, of some length");
    for (int call = 0; call < 4; ++call) {
      try {
        replica.merge_call([](CrossReplicaContext&) {});
      } catch (const ReplicaCancelled&) {
      }
    }
  });
}

void make_variables(MemoryFixture& fixture) {
  Strategy& strategy = *fixture.strategy;
  const auto tensor =
      strategy.mirrored_variable([] { return Tensor<float>::full(Shape({2}), 1.0F); });
  const auto local = strategy.replica_local_variable(ReduceOp::kSum, 1.0);
  const auto some = strategy.variable(std::vector<float>{1, 2});
  EXPECT_EQ(strategy.read(tensor).to_host(), (std::vector<float>{1, 1}));
  EXPECT_EQ(strategy.read(local), strategy.num_replicas());
  EXPECT_EQ(strategy.read(some), (std::vector<float>{1, 2}));
}

void make_variables_in_replicas(MemoryFixture& fixture) {
  fixture.strategy->run([&](ReplicaContext& replica) {
    const auto tensor = fixture.strategy->mirrored_variable(
        [] { return Tensor<float>::full(Shape({2}), 1.0F); }, {.name = "tensor"});
    const auto local = fixture.strategy->replica_local_variable(ReduceOp::kSum, 1.0);
    local.on(replica) += 1;
    replica.merge_call([&](CrossReplicaContext& cross) {
      EXPECT_EQ(fixture.strategy->read(tensor).to_host(), (std::vector<float>{1, 1}));
      EXPECT_EQ(fixture.strategy->read(local), 2.0 * cross.num_replicas());
    });
  });
}

void assign_in_replicas(MemoryFixture& fixture) {
  const auto total =
      fixture.strategy->mirrored_variable(1.0, {.name = "total", .aggregation = Aggregation::kSum});
  fixture.strategy->run([&](ReplicaContext& replica) { replica.assign_add(total, 1.0); });
  EXPECT_EQ(fixture.strategy->read(total), 1.0 + fixture.strategy->num_replicas());
}

void gather_and_broadcast(MemoryFixture& fixture) {
  const int replicas = fixture.strategy->num_replicas();
  const auto gathered = fixture.strategy->run([](ReplicaContext& replica) {
    const auto mine = Tensor<float>::full(Shape({1, 2}), static_cast<float>(replica.replica_id()));
    return replica.all_gather(mine, Axis(0)).to_host();
  });
  EXPECT_EQ(gathered[0].size(), static_cast<std::size_t>(2 * replicas));
  CrossReplicaContext& cross = fixture.strategy->cross_replica();
  const auto copies = cross.broadcast(fixture.strategy->read(fixture.weights));
  EXPECT_EQ(copies[replicas - 1].to_host(), copies[0].to_host());
}

void save_and_restore(MemoryFixture& fixture) {
  const auto local =
      fixture.strategy->replica_local_variable(ReduceOp::kSum, 1.0, {.name = "local"});
  Checkpoint checkpoint(*fixture.strategy);
  checkpoint.add(fixture.weights).add(fixture.history).add(local);
  const std::string bytes = checkpoint.contents().contents();
  checkpoint.restore(TensorFile::parse(bytes, "memory"));
}

// Made once, with memory enough: GCC's paths do not stay whole if memory runs out while they are
// joined.
const std::filesystem::path& saved_file() {
  static const std::filesystem::path path = ::testing::TempDir() + "belfry_memory.safetensors";
  return path;
}

void save_to_a_file(MemoryFixture& fixture) {
  const std::filesystem::path& path = saved_file();
  Checkpoint checkpoint(*fixture.strategy);
  checkpoint.add(fixture.weights).add(fixture.history);
  checkpoint.save(path);
  checkpoint.restore(path);
}

void read_and_look(MemoryFixture& fixture) {
  const auto all = fixture.strategy->local_values(fixture.weights);
  EXPECT_EQ(all[0].to_host(), fixture.strategy->read(fixture.weights).to_host());
  static_cast<void>(fixture.strategy->devices());
  static_cast<void>(fixture.strategy->parameter_devices());
}

void loop_over_data(MemoryFixture& fixture) {
  const auto rows = Dataset<std::vector<double>>::from({{1, 2, 3, 4}, {5, 6, 7}});
  auto steps = fixture.strategy->distribute_dataset(
      rows, {.end_of_data = EndOfData::kMaskReplicas, .prefetch = 1});
  double sum = 0;
  for (const PerReplica<std::vector<double>>& step : steps) {
    const auto sums = fixture.strategy->run(
        [](ReplicaContext& replica, const std::vector<double>& share) {
          double own = 0;
          for (const double row : share) own += row;
          return replica.all_reduce(ReduceOp::kSum, own);
        },
        step);
    sum += *sums.begin();
  }
  EXPECT_EQ(sum, 28.0);
}

void run_masked(MemoryFixture& fixture) {
  const int replicas = fixture.strategy->num_replicas();
  detail::ReplicaArray<double> value(1);
  value.emplace_back(2.5);
  const PerReplica<double> some(std::move(value), detail::Participants(replicas, {replicas - 1}));
  const auto sums = fixture.strategy->run(
      [](ReplicaContext& replica, double own) { return replica.all_reduce(ReduceOp::kSum, own); },
      some);
  EXPECT_EQ(last_of(sums), 2.5);
}

// A failed record leaves the event unchanged: no stream waits for a record that never comes.
void record_events(MemoryFixture& fixture) {
  Device& device = fixture.strategy->backend().device(0);
  const auto event = device.create_event();
  for (int record = 0; record < 4; ++record) {
    try {
      device.compute_stream().record(*event);
    } catch (const std::bad_alloc&) {
    }
    device.communication_stream().wait(*event);
    device.communication_stream().synchronize();
  }
}

// A replica whose merge found no memory does other work and merges again.
void merge_until_it_works(MemoryFixture& fixture) {
  const auto sums = fixture.strategy->run([](ReplicaContext& replica) {
    for (;;) {
      try {
        return replica.all_reduce(ReduceOp::kSum, 1);
      } catch (const std::bad_alloc&) {
        static_cast<void>(Tensor<float>::full(Shape({2}), 1.0F).to_host());
      }
    }
  });
  EXPECT_EQ(sums[0], fixture.strategy->num_replicas());
}

// A replica whose variable found no memory makes the variable again. All replicas get the same
// variable.
void make_a_variable_until_it_works(MemoryFixture& fixture) {
  std::vector<MirroredVariable<double>> made(
      static_cast<std::size_t>(fixture.strategy->num_replicas()));
  fixture.strategy->run([&](ReplicaContext& replica) {
    auto& own = made[static_cast<std::size_t>(replica.replica_id())];
    for (;;) {
      try {
        own = fixture.strategy->mirrored_variable(1.0, {.name = "again"});
        return;
      } catch (const std::bad_alloc&) {
        static_cast<void>(Tensor<float>::full(Shape({2}), 1.0F).to_host());
      }
    }
  });
  for (const auto& variable : made) EXPECT_TRUE(variable == made[0]);
}

void read_beyond_the_end(MemoryFixture& fixture) {
  fixture.strategy->run([](ReplicaContext&) {
    const auto table = Tensor<float>::full(Shape({2, 1}), 1.0F);
    const auto index = Tensor<std::int64_t>::full(Shape({1}), 2);
    static_cast<void>(gather_rows(table, index).to_host());
  });
}

}  // namespace

std::vector<MemoryCase> memory_cases() {
  return {
      {"a reduction of hosts and tensors", Changes::kNothing, reduce_hosts_and_tensors},
      {"a merge with updates", Changes::kEach, merge_with_updates},
      {"kernels of the user", Changes::kNothing, launch_kernels},
      {"a kernel that throws", Changes::kNothing, launch_a_kernel_that_throws, true},
      {"a transaction", Changes::kBoth, change_in_a_transaction},
      {"a nested run", Changes::kNothing, run_in_a_merge},
      {"a replica that throws", Changes::kNothing, throw_in_a_replica},
      {"replicas that all throw", Changes::kNothing, throw_in_every_replica},
      {"a merge that throws", Changes::kNothing, throw_in_a_merge},
      {"a cancellation of the user", Changes::kNothing, cancel_by_hand},
      {"a missing merge", Changes::kNothing, miss_a_merge},
      {"merges at two places", Changes::kNothing, meet_at_two_places},
      {"merges with two types", Changes::kNothing, meet_with_two_types},
      {"reductions of two lengths", Changes::kNothing, reduce_two_lengths},
      {"variables that differ", Changes::kNothing, make_two_variables_in_one},
      {"a variable of one replica", Changes::kNothing, make_variables_on_one_replica},
      {"a variable that nobody makes", Changes::kNothing, ask_for_what_nobody_makes},
      {"a deadlock", Changes::kNothing, wait_for_ever},
      {"a swallowed cancellation", Changes::kNothing, swallow_cancellation},
      {"variables outside a run", Changes::kNothing, make_variables},
      {"variables in replicas", Changes::kNothing, make_variables_in_replicas},
      {"an assignment in replicas", Changes::kNothing, assign_in_replicas},
      {"gathering and broadcasting", Changes::kNothing, gather_and_broadcast},
      {"saving and restoring", Changes::kNothing, save_and_restore},
      {"saving to a file", Changes::kNothing, save_to_a_file},
      {"reading variables", Changes::kNothing, read_and_look},
      {"steps of a data set", Changes::kNothing, loop_over_data},
      {"a masked run", Changes::kNothing, run_masked},
      {"events recorded again", Changes::kNothing, record_events},
      {"a merge tried again", Changes::kNothing, merge_until_it_works},
      {"a variable tried again", Changes::kNothing, make_a_variable_until_it_works},
      {"an index beyond the end", Changes::kNothing, read_beyond_the_end, true},
  };
}

}  // namespace belfry::testing
