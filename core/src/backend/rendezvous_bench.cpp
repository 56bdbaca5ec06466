// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/testing/paired.h"
#include "backend/testing/rendezvous_baselines.h"
#include "backend/testing/rounds_job.h"

#include <benchmark/benchmark.h>

namespace belfry {
namespace {

using testing::Cpus;

// Seconds of one rendezvous of `replicas` fibers; with everything on or off.
class Fibers {
 public:
  Fibers(int replicas, bool everything)
      : executor_(make_fiber_executor(
            everything ? ExecutorParts{.chooser = &chooser_, .sink = &sink_} : ExecutorParts{})),
        rounds_(std::max(20, 100'000 / replicas)),
        job_(*executor_, replicas, rounds_) {}

  double operator()() {
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

// Times of one replica's part, as the goal is stated for any number of replicas.
void BM_BareSwitch(benchmark::State& state) {
  const int replicas = replicas_of(state);
  Fibers fibers(replicas, true);
  testing::report_pair(
      state, [&] { return fibers.cpu_seconds() / replicas; },
      [&] { return testing::bare_switch_seconds(replicas, 100'000 / replicas) / replicas; });
}
BENCHMARK(BM_BareSwitch)
    ->Arg(2)
    ->Arg(8)
    ->Arg(64)
    ->Arg(1024)
    ->Arg(10000)
    ->UseManualTime()
    ->Iterations(25);

void BM_RecordingAndSeededOrder(benchmark::State& state) {
  Fibers on(replicas_of(state), true);
  Fibers off(replicas_of(state), false);
  testing::report_pair(state, [&] { return on.cpu_seconds(); }, [&] { return off.cpu_seconds(); });
}
BENCHMARK(BM_RecordingAndSeededOrder)
    ->Arg(2)
    ->Arg(8)
    ->Arg(64)
    ->Arg(1024)
    ->UseManualTime()
    ->Iterations(25);

void BM_Condvar(benchmark::State& state) {
  Fibers fibers(replicas_of(state), true);
  const auto cpus = static_cast<Cpus>(state.range(1));
  testing::report_pair(state, fibers,
                       [&] { return testing::condvar_seconds(replicas_of(state), 500, cpus); });
}
BENCHMARK(BM_Condvar)->Args({8, 0})->Args({8, 1})->Args({64, 1})->UseManualTime()->Iterations(7);

void BM_Barrier(benchmark::State& state) {
  Fibers fibers(replicas_of(state), true);
  const auto cpus = static_cast<Cpus>(state.range(1));
  testing::report_pair(state, fibers,
                       [&] { return testing::barrier_seconds(replicas_of(state), 2000, cpus); });
}
BENCHMARK(BM_Barrier)->Args({8, 0})->Args({8, 1})->Args({64, 1})->UseManualTime()->Iterations(7);

// A whole run with range(1) merges.
void BM_EventPairRun(benchmark::State& state) {
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
  testing::report_pair(state, ours, [&] {
    return testing::event_pair_run_seconds(replicas_of(state), merges, Cpus::kAll);
  });
}
BENCHMARK(BM_EventPairRun)
    ->Args({8, 0})
    ->Args({8, 1})
    ->Args({8, 10})
    ->UseManualTime()
    ->Iterations(25);

}  // namespace
}  // namespace belfry
