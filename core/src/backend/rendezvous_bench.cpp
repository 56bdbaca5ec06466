// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The executor alone, without the library above: the time of a rendezvous, in which every replica
// waits until all replicas have arrived. A seeded order, the log and its hash are on, except in the
// benchmark of their own cost.
//
// Each benchmark has a baseline in the same run; `base/ours` says how many times as long the
// baseline takes (testing/paired.h). The goals are stated for a whole merge_call:
// tools/bench/merge_call_bench.cpp.

#include "backend/testing/paired.h"
#include "backend/testing/rendezvous_baselines.h"
#include "backend/testing/rounds_job.h"

#include <benchmark/benchmark.h>

namespace belfry {
namespace {

using testing::Cpus;

enum class Features { kNone, kSeededOrderAndLog };

// Seconds of a rendezvous of `replicas` fibers.
class FiberRendezvous {
 public:
  FiberRendezvous(int replicas, Features features)
      : executor_(make_fiber_executor(features == Features::kNone
                                          ? ExecutorParts{}
                                          : ExecutorParts{.chooser = &chooser_, .sink = &sink_})),
        rounds_(std::max(20, 100'000 / replicas)),
        job_(*executor_, replicas, rounds_) {}

  double wall_seconds() {
    return testing::seconds([this] { job_.carry(); }) / rounds_;
  }
  double cpu_seconds() {
    return testing::cpu_seconds([this] { job_.carry(); }) / rounds_;
  }

 private:
  testing::DrawnChooser chooser_{1};
  testing::HashingSink sink_;
  std::unique_ptr<Executor> executor_;
  int rounds_;
  testing::RoundsJob job_;
};

int replicas_of(const benchmark::State& state) { return static_cast<int>(state.range(0)); }

// Both times are divided by the number of replicas: the part of a replica. The baseline is a bare
// switch there and back.
void BM_AgainstBareSwitch(benchmark::State& state) {
  const int replicas = replicas_of(state);
  FiberRendezvous fibers(replicas, Features::kSeededOrderAndLog);
  testing::report_ratio(
      state, [&] { return fibers.cpu_seconds() / replicas; },
      [&] { return testing::bare_switch_seconds(replicas, 100'000 / replicas) / replicas; });
}
BENCHMARK(BM_AgainstBareSwitch)
    ->Arg(2)
    ->Arg(8)
    ->Arg(64)
    ->Arg(1024)
    ->Arg(10000)
    ->UseManualTime()
    ->Iterations(25);

// The cost of the seeded order and the log: the baseline is the same executor without both.
// `ours/base` is therefore the factor that both cost.
void BM_SeededOrderAndLogAgainstNeither(benchmark::State& state) {
  FiberRendezvous on(replicas_of(state), Features::kSeededOrderAndLog);
  FiberRendezvous off(replicas_of(state), Features::kNone);
  testing::report_ratio(state, [&] { return on.cpu_seconds(); }, [&] { return off.cpu_seconds(); });
}
BENCHMARK(BM_SeededOrderAndLogAgainstNeither)
    ->Arg(2)
    ->Arg(8)
    ->Arg(64)
    ->Arg(1024)
    ->UseManualTime()
    ->Iterations(25);

// Compares with threads that wait on a single condition variable.
void BM_AgainstCondvar(benchmark::State& state) {
  FiberRendezvous fibers(replicas_of(state), Features::kSeededOrderAndLog);
  const auto cpus = static_cast<Cpus>(state.range(1));
  testing::report_ratio(
      state, [&] { return fibers.wall_seconds(); },
      [&] { return testing::condvar_seconds(replicas_of(state), 500, cpus); });
}
BENCHMARK(BM_AgainstCondvar)
    ->ArgNames({"replicas", "one_cpu"})
    ->Args({8, 0})
    ->Args({8, 1})
    ->Args({64, 1})
    ->UseManualTime()
    ->Iterations(7);

// Compares with threads at a std::barrier.
void BM_AgainstBarrier(benchmark::State& state) {
  FiberRendezvous fibers(replicas_of(state), Features::kSeededOrderAndLog);
  const auto cpus = static_cast<Cpus>(state.range(1));
  testing::report_ratio(
      state, [&] { return fibers.wall_seconds(); },
      [&] { return testing::barrier_seconds(replicas_of(state), 2000, cpus); });
}
BENCHMARK(BM_AgainstBarrier)
    ->ArgNames({"replicas", "one_cpu"})
    ->Args({8, 0})
    ->Args({8, 1})
    ->Args({64, 1})
    ->UseManualTime()
    ->Iterations(7);

// A whole run with `merges` rendezvous, compared with threads started for each run.
void BM_RunAgainstThreadsPerRun(benchmark::State& state) {
  testing::DrawnChooser chooser{1};
  testing::HashingSink sink;
  const auto executor = make_fiber_executor({.chooser = &chooser, .sink = &sink});
  const auto merges = static_cast<int>(state.range(1));
  testing::RoundsJob job(*executor, replicas_of(state), merges);
  constexpr int kRuns = 10'000;
  const auto ours = [&] {
    return testing::seconds([&] {
             for (int i = 0; i < kRuns; ++i) job.carry();
           }) /
           kRuns;
  };
  testing::report_ratio(state, ours, [&] {
    return testing::event_pair_run_seconds(replicas_of(state), merges, Cpus::kAll);
  });
}
BENCHMARK(BM_RunAgainstThreadsPerRun)
    ->ArgNames({"replicas", "merges"})
    ->Args({8, 0})
    ->Args({8, 1})
    ->Args({8, 10})
    ->UseManualTime()
    ->Iterations(25);

}  // namespace
}  // namespace belfry
