// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/testing/paired.h"
#include "backend/testing/rendezvous_baselines.h"
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <numeric>

// What a user pays for a merge_call on the simulator, all features on: an order drawn from the
// seed, log and hash, exception state kept at every switch, call sites and types compared. Against
// what the user would write instead with threads, and against the bare switches below it.
namespace belfry {
namespace {

using testing::Cpus;

double total(CrossReplicaContext&, const PerReplica<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Seconds of one merge_call of `replicas` replicas in a run of many.
class Merges {
 public:
  explicit Merges(int replicas, bool record = true, bool seeded = true)
      : backend_({.devices = replicas,
                  .schedule = seeded ? sim::Schedule::random() : sim::Schedule::fixed(),
                  .record = record,
                  .digests = sim::Digests::kNone,
                  .seed = 1}),
        strategy_(backend_),
        rounds_(std::max(20, 200'000 / replicas)) {}

  double operator()() {
    return testing::seconds([this] { run(); }) / rounds_;
  }
  /// Of this thread's processor time, where nothing it is compared with uses another thread.
  double cpu_seconds() {
    return testing::cpu_seconds([this] { run(); }) / rounds_;
  }

 private:
  void run() {
    strategy_.run([this](ReplicaContext& replica) {
      double value = replica.replica_id();
      for (int round = 0; round < rounds_; ++round) {
        value = replica.merge_call(total, value) * 0x1p-10;
      }
      return value;
    });
  }

  sim::Backend backend_;
  MirroredStrategy strategy_;
  int rounds_;
};

int replicas_of(const benchmark::State& state) { return static_cast<int>(state.range(0)); }

// GOAL-3, for one replica's part: base/ours at least 1/5.
void BM_MergeCallAgainstBareSwitch(benchmark::State& state) {
  const int replicas = replicas_of(state);
  Merges merges(replicas);
  testing::report_pair(
      state, [&] { return merges.cpu_seconds() / replicas; },
      [&] { return testing::bare_switch_seconds(replicas, 200'000 / replicas) / replicas; });
}
BENCHMARK(BM_MergeCallAgainstBareSwitch)
    ->Arg(2)
    ->Arg(8)
    ->Arg(64)
    ->Arg(1024)
    ->UseManualTime()
    ->Iterations(15);

// GOAL-4: ours/base at most 1.25 up to 64 replicas.
void BM_RecordedAndSeededAgainstNeither(benchmark::State& state) {
  Merges on(replicas_of(state));
  Merges off(replicas_of(state), false, false);
  testing::report_pair(state, [&] { return on.cpu_seconds(); }, [&] { return off.cpu_seconds(); });
}
BENCHMARK(BM_RecordedAndSeededAgainstNeither)
    ->Arg(2)
    ->Arg(8)
    ->Arg(64)
    ->UseManualTime()
    ->Iterations(15);

// GOAL-1: base/ours at least 40, on the CPUs where the threads do best.
void BM_MergeCallAgainstCondvar(benchmark::State& state) {
  Merges merges(replicas_of(state));
  const auto cpus = static_cast<Cpus>(state.range(1));
  testing::report_pair(state, merges,
                       [&] { return testing::condvar_seconds(replicas_of(state), 500, cpus); });
}
BENCHMARK(BM_MergeCallAgainstCondvar)
    ->ArgNames({"replicas", "one_cpu"})
    ->Args({8, 0})
    ->Args({8, 1})
    ->UseManualTime()
    ->Iterations(9);

// GOAL-2: base/ours at least 10, on the CPUs where the threads do best.
void BM_MergeCallAgainstBarrier(benchmark::State& state) {
  Merges merges(replicas_of(state));
  const auto cpus = static_cast<Cpus>(state.range(1));
  testing::report_pair(state, merges,
                       [&] { return testing::barrier_seconds(replicas_of(state), 2000, cpus); });
}
BENCHMARK(BM_MergeCallAgainstBarrier)
    ->ArgNames({"replicas", "one_cpu"})
    ->Args({8, 0})
    ->Args({8, 1})
    ->UseManualTime()
    ->Iterations(9);

// GOAL-5: base/ours at least 300 for eight replicas and one merge.
void BM_RunAgainstThreadsPerRun(benchmark::State& state) {
  const int replicas = replicas_of(state);
  const auto merges = static_cast<int>(state.range(1));
  sim::Backend backend{{.devices = replicas, .digests = sim::Digests::kNone, .seed = 1}};
  MirroredStrategy strategy{backend};
  constexpr int kRuns = 10'000;
  const auto ours = [&] {
    return testing::seconds([&] {
             for (int i = 0; i < kRuns; ++i) {
               strategy.run([merges](ReplicaContext& replica) {
                 double value = replica.replica_id();
                 for (int round = 0; round < merges; ++round) {
                   value = replica.merge_call(total, value);
                 }
                 return value;
               });
             }
           }) /
           kRuns;
  };
  testing::report_pair(
      state, ours, [&] { return testing::event_pair_run_seconds(replicas, merges, Cpus::kAll); });
}
BENCHMARK(BM_RunAgainstThreadsPerRun)
    ->ArgNames({"replicas", "merges"})
    ->Args({8, 0})
    ->Args({8, 1})
    ->Args({8, 10})
    ->UseManualTime()
    ->Iterations(15);

}  // namespace
}  // namespace belfry
