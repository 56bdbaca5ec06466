// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The time of a merge_call on the simulator, with all features on: an order drawn from the seed,
// log and hash, exception state kept at every switch, call sites and types compared.
//
// Each benchmark compares with one baseline of the same run: threads that a user would write
// instead, a bare switch of fibers, or the same merge_call with features off. `base/ours` says how
// many times as long the baseline takes (core/src/backend/testing/paired.h); the comment of each
// benchmark has the goal.

#include "backend/testing/paired.h"
#include "backend/testing/rendezvous_baselines.h"
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <numeric>

namespace belfry {
namespace {

using testing::Cpus;

double total(CrossReplicaContext&, const PerReplica<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

enum class Features { kNone, kSeededOrderAndLog };

// Seconds of a merge_call of `replicas` replicas, in a run of many merge_calls.
class MergeCalls {
 public:
  explicit MergeCalls(int replicas, Features features = Features::kSeededOrderAndLog)
      : backend_({.devices = replicas,
                  .schedule = features == Features::kNone ? sim::Schedule::fixed()
                                                          : sim::Schedule::random(),
                  .record = features != Features::kNone,
                  .digests = sim::Digests::kNone,
                  .seed = 1}),
        strategy_(backend_),
        rounds_(std::max(20, 200'000 / replicas)) {}

  double wall_seconds() {
    return testing::seconds([this] { run(); }) / rounds_;
  }
  // For baselines on a single thread.
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

// GOAL-3, for one replica's part of a merge_call: ours/base at most 5.
void BM_MergeCallAgainstBareSwitch(benchmark::State& state) {
  const int replicas = replicas_of(state);
  MergeCalls merges(replicas);
  testing::report_ratio(
      state, [&] { return merges.cpu_seconds() / replicas; },
      [&] { return testing::bare_switch_seconds(replicas, 200'000 / replicas) / replicas; });
}
BENCHMARK(BM_MergeCallAgainstBareSwitch)
    ->ArgName("replicas")
    ->Arg(2)
    ->Arg(8)
    ->Arg(64)
    ->Arg(1024)
    ->UseManualTime()
    ->Iterations(15);

// GOAL-4: ours/base at most 1.25 up to 64 replicas.
void BM_RecordedAndSeededAgainstNeither(benchmark::State& state) {
  MergeCalls on(replicas_of(state));
  MergeCalls off(replicas_of(state), Features::kNone);
  testing::report_ratio(state, [&] { return on.cpu_seconds(); }, [&] { return off.cpu_seconds(); });
}
BENCHMARK(BM_RecordedAndSeededAgainstNeither)
    ->Arg(2)
    ->Arg(8)
    ->Arg(64)
    ->UseManualTime()
    ->Iterations(15);

// GOAL-1: base/ours at least 40, on the CPUs on which the threads are fastest.
void BM_MergeCallAgainstCondvar(benchmark::State& state) {
  MergeCalls merges(replicas_of(state));
  const auto cpus = static_cast<Cpus>(state.range(1));
  testing::report_ratio(
      state, [&] { return merges.wall_seconds(); },
      [&] { return testing::condvar_seconds(replicas_of(state), 500, cpus); });
}
BENCHMARK(BM_MergeCallAgainstCondvar)
    ->ArgNames({"replicas", "one_cpu"})
    ->Args({8, 0})
    ->Args({8, 1})
    ->UseManualTime()
    ->Iterations(9);

// GOAL-2: base/ours at least 10, on the CPUs on which the threads are fastest.
void BM_MergeCallAgainstBarrier(benchmark::State& state) {
  MergeCalls merges(replicas_of(state));
  const auto cpus = static_cast<Cpus>(state.range(1));
  testing::report_ratio(
      state, [&] { return merges.wall_seconds(); },
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
  testing::report_ratio(
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
