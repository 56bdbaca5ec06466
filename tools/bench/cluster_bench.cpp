// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Simulated clusters in processor time. The work is a round: a merge without data, an all_reduce of
// a number on the host or of a tensor of 256 floats, or a merge that reduces or broadcasts a
// number. The program makes few and then many rounds; the difference counts, so that neither the
// making of hosts, backends and strategies nor the end of a run does. `ours/base` says how many
// times as long
//
// - a replica's part of a round takes on the cluster as in one process with all replicas;
// - a host's part takes, in `..Alone`, as the round of a process with the replicas of the host
//   alone (goal: at most 3);
// - an all_gather of a vector takes as `gather` of the group with the same bytes (goal: at most 3).

#include "backend/testing/paired.h"
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/sim/cluster.h"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry {
namespace {

constexpr int kFew = 2;
constexpr int kMany = 22;
constexpr int kManyAlone = 5002;        // A round of a single replica is short.
constexpr std::size_t kRecords = 1024;  // Kept operations; all are hashed.

void merge_nothing(ReplicaContext& replica) {
  replica.merge_call([](CrossReplicaContext&) {});
}
void reduce_one(ReplicaContext& replica) {
  benchmark::DoNotOptimize(replica.all_reduce(ReduceOp::kSum, 1));
}
void reduce_tensor(ReplicaContext& replica) {
  const auto own = Tensor<float>::full({256}, 1.0F);
  benchmark::DoNotOptimize(replica.all_reduce(ReduceOp::kSum, own));
}
void reduce_in_merge(ReplicaContext& replica) {
  const auto merge = [](CrossReplicaContext& cross, const PerReplica<int>& ones) {
    return cross.reduce(ReduceOp::kSum, ones);
  };
  benchmark::DoNotOptimize(replica.merge_call(merge, 1));
}
void broadcast_in_merge(ReplicaContext& replica) {
  const auto merge = [](CrossReplicaContext& cross) { return cross.broadcast(1); };
  benchmark::DoNotOptimize(replica.merge_call(merge));
}
using Round = void (*)(ReplicaContext&);

template <class F>
void make_rounds(Strategy& strategy, const F& round, int rounds) {
  strategy.run([&](ReplicaContext& replica) {
    for (int i = 0; i < rounds; ++i) round(replica);
  });
}

double on_cluster(int hosts, int devices, Round round, int rounds) {
  sim::Cluster cluster({.hosts = hosts, .devices = devices, .seed = 1, .record_limit = kRecords});
  return testing::cpu_seconds([&] {
    cluster.run([&](sim::Host& host) {
      MultiWorkerMirroredStrategy strategy(host.backend(), host.group());
      make_rounds(strategy, round, rounds);
    });
  });
}

double in_one_process(int replicas, Round round, int rounds) {
  sim::Backend backend({.devices = replicas, .record_limit = kRecords, .seed = 1});
  return testing::cpu_seconds([&] {
    MirroredStrategy strategy(backend);
    make_rounds(strategy, round, rounds);
  });
}

// Seconds of one of `shares` in a round, from a few and from `many` rounds.
template <class Run>
double of_round(const Run& run, int many, int shares) {
  const double few = run(kFew);
  return (run(many) - few) / (many - kFew) / shares;
}

template <Round round, bool kAlone>
void BM_Cluster(benchmark::State& state) {
  const auto hosts = static_cast<int>(state.range(0));
  const auto devices = static_cast<int>(state.range(1));
  const int alone = kAlone ? devices : hosts * devices;
  const auto ours = [&](int rounds) { return on_cluster(hosts, devices, round, rounds); };
  const auto base = [&](int rounds) { return in_one_process(alone, round, rounds); };
  testing::report_ratio(
      state, [&] { return of_round(ours, kMany, kAlone ? hosts : alone); },
      [&] { return of_round(base, kAlone ? kManyAlone : kMany, kAlone ? 1 : alone); });
}

// Seconds of a host with `bytes` to gather, by all_gather of a vector or by the group.
double of_gather(int hosts, std::size_t bytes, bool by_group, int rounds) {
  sim::Cluster cluster({.hosts = hosts, .devices = 1, .seed = 1, .record_limit = kRecords});
  return testing::cpu_seconds([&] {
    cluster.run([&](sim::Host& host) {
      MultiWorkerMirroredStrategy strategy(host.backend(), host.group());
      for (int i = 0; by_group && i < rounds; ++i) {
        benchmark::DoNotOptimize(host.group().gather(std::vector<std::byte>(bytes)));
      }
      make_rounds(
          strategy,
          [bytes](ReplicaContext& replica) {
            benchmark::DoNotOptimize(replica.all_gather(std::vector<std::uint8_t>(bytes)));
          },
          by_group ? 0 : rounds);
    });
  });
}

void BM_AllGatherOfAVector(benchmark::State& state) {
  const auto hosts = static_cast<int>(state.range(0));
  const auto bytes = static_cast<std::size_t>(state.range(1));
  testing::report_ratio(
      state,
      [&] {
        return of_round([&](int n) { return of_gather(hosts, bytes, false, n); }, kMany, hosts);
      },
      [&] {
        return of_round([&](int n) { return of_gather(hosts, bytes, true, n); }, kMany, hosts);
      });
}
void sizes_of_vectors(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"hosts", "bytes"})->Args({2, 1 << 20})->Args({16, 1 << 18});
  benchmark->Args({64, 1 << 10})->Args({2, 1 << 10})->UseManualTime()->Iterations(5);
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"hosts", "devices"})->Args({100, 8})->Args({10, 8})->Args({2, 4});
  benchmark->Args({4, 1})->Args({64, 1})->Args({256, 1})->UseManualTime()->Iterations(5);
}
void sizes_alone(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"hosts", "devices"})->Args({4, 1})->Args({64, 1})->Args({256, 1});
  benchmark->UseManualTime()->Iterations(5);
}
BENCHMARK(BM_Cluster<merge_nothing, false>)->Name("BM_Merge")->Apply(sizes);
BENCHMARK(BM_Cluster<reduce_one, false>)->Name("BM_AllReduceOfANumber")->Apply(sizes);
BENCHMARK(BM_Cluster<reduce_tensor, false>)->Name("BM_AllReduceOfATensor")->Apply(sizes);
BENCHMARK(BM_Cluster<merge_nothing, true>)->Name("BM_MergeAlone")->Apply(sizes_alone);
BENCHMARK(BM_Cluster<reduce_one, true>)->Name("BM_AllReduceOfANumberAlone")->Apply(sizes_alone);
BENCHMARK(BM_Cluster<reduce_tensor, true>)->Name("BM_AllReduceOfATensorAlone")->Apply(sizes_alone);
BENCHMARK(BM_Cluster<reduce_in_merge, true>)->Name("BM_ReduceInAMergeAlone")->Apply(sizes_alone);
BENCHMARK(BM_Cluster<broadcast_in_merge, true>)
    ->Name("BM_BroadcastInAMergeAlone")
    ->Apply(sizes_alone);
BENCHMARK(BM_AllGatherOfAVector)->Apply(sizes_of_vectors);

}  // namespace
}  // namespace belfry
