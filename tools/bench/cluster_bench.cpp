// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A simulated cluster of 100 hosts with 8 devices each, against 800 replicas in one process, in
// processor time. The work is a round: a merge without data, or an all_reduce of a number on the
// host. The program makes few and then many rounds; the difference counts, so that neither the
// making of hosts, backends and strategies nor the end of a run does. `ours/base` says how many
// times as long a replica's part of a round takes on the cluster.

#include "backend/testing/paired.h"
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/sim/cluster.h"

#include <benchmark/benchmark.h>

namespace belfry {
namespace {

constexpr int kFew = 2;
constexpr int kMany = 22;
constexpr std::size_t kRecords = 1024;  // Kept operations; all are hashed.

void merge_nothing(ReplicaContext& replica) {
  replica.merge_call([](CrossReplicaContext&) {});
}
void reduce_one(ReplicaContext& replica) {
  benchmark::DoNotOptimize(replica.all_reduce(ReduceOp::kSum, 1));
}
using Round = void (*)(ReplicaContext&);

void make_rounds(Strategy& strategy, Round round, int rounds) {
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

// Seconds of a replica's part of a round.
template <class Run>
double of_round(const Run& run, int replicas) {
  const double few = run(kFew);
  return (run(kMany) - few) / (kMany - kFew) / replicas;
}

template <Round round>
void BM_Cluster(benchmark::State& state) {
  const auto hosts = static_cast<int>(state.range(0));
  const auto devices = static_cast<int>(state.range(1));
  const int replicas = hosts * devices;
  testing::report_ratio(
      state,
      [&] {
        return of_round([&](int rounds) { return on_cluster(hosts, devices, round, rounds); },
                        replicas);
      },
      [&] {
        return of_round([&](int rounds) { return in_one_process(replicas, round, rounds); },
                        replicas);
      });
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"hosts", "devices"})->Args({100, 8})->Args({10, 8})->Args({2, 4});
  benchmark->UseManualTime()->Iterations(5);
}
BENCHMARK(BM_Cluster<merge_nothing>)->Name("BM_Merge")->Apply(sizes);
BENCHMARK(BM_Cluster<reduce_one>)->Name("BM_AllReduceOfANumber")->Apply(sizes);

}  // namespace
}  // namespace belfry
