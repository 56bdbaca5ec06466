// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The time of a rendezvous of fibers: every replica waits until all replicas have arrived. The
// executor runs alone, without the library above (tools/bench/merge_call_bench.cpp measures a whole
// merge_call, and states the goals).
//
// The measured executor draws the order of the replicas from a seed, and keeps a log and its hash,
// as for users of the simulator. Work on a single thread is measured in processor time, and
// comparisons with threads in wall time. Both sides are timed in turn, in one process. Each line of
// the output has the counters `ours_ns` and `base_ns`, the times of the two sides, and `base/ours`,
// the quotient (testing/paired.h).

#include "backend/testing/paired.h"
#include "backend/testing/rendezvous_baselines.h"
#include "backend/testing/rounds_job.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>

namespace belfry {
namespace {

using testing::Cpus;

// A fiber executor with a drawn order, a log and a hash.
struct LoggedExecutor {
  testing::DrawnChooser chooser{1};
  testing::HashingSink sink;
  std::unique_ptr<Executor> executor = make_fiber_executor({.chooser = &chooser, .sink = &sink});
};

// The rounds of a timed run: enough for about 100'000 arrivals.
int rounds_for(int replicas) { return std::max(20, 100'000 / replicas); }

// Both functions run `replicas` fibers through many rendezvous, and return the time of a single
// rendezvous, in seconds.
double rendezvous_cpu_seconds(Executor& executor, int replicas) {
  const int rounds = rounds_for(replicas);
  testing::RoundsJob job(executor, replicas, rounds);
  return testing::cpu_seconds([&] { job.carry(); }) / rounds;
}
double rendezvous_wall_seconds(Executor& executor, int replicas) {
  const int rounds = rounds_for(replicas);
  testing::RoundsJob job(executor, replicas, rounds);
  return testing::seconds([&] { job.carry(); }) / rounds;
}

// Measured: the processor time of a rendezvous, divided by the number of replicas. Compared with: a
// switch to a bare fiber and back, the least that any implementation needs for each replica.
void BM_AgainstBareSwitch(benchmark::State& state) {
  const auto replicas = static_cast<int>(state.range(0));
  LoggedExecutor logged;
  const auto arrival = [&] {
    return rendezvous_cpu_seconds(*logged.executor, replicas) / replicas;
  };
  const auto bare_switch = [&] {
    return testing::bare_switch_seconds(replicas, 100'000 / replicas) / replicas;
  };
  testing::report_ratio(state, arrival, bare_switch);
}
BENCHMARK(BM_AgainstBareSwitch)
    ->Arg(2)
    ->Arg(8)
    ->Arg(64)
    ->Arg(1024)
    ->Arg(10000)
    ->UseManualTime()
    ->Iterations(25);

// Measured: the processor time of a rendezvous. Compared with: the same executor without a drawn
// order and a log. `ours/base` is therefore the factor that both cost.
void BM_SeededOrderAndLogAgainstNeither(benchmark::State& state) {
  const auto replicas = static_cast<int>(state.range(0));
  LoggedExecutor logged;
  const std::unique_ptr<Executor> plain = make_fiber_executor({});
  testing::report_ratio(
      state, [&] { return rendezvous_cpu_seconds(*logged.executor, replicas); },
      [&] { return rendezvous_cpu_seconds(*plain, replicas); });
}
BENCHMARK(BM_SeededOrderAndLogAgainstNeither)
    ->Arg(2)
    ->Arg(8)
    ->Arg(64)
    ->Arg(1024)
    ->UseManualTime()
    ->Iterations(25);

// Measured: the wall time of a rendezvous. Compared with: threads that wait at a condition
// variable, on all CPUs or (`one_cpu`) on one.
void BM_AgainstCondvar(benchmark::State& state) {
  const auto replicas = static_cast<int>(state.range(0));
  const auto cpus = static_cast<Cpus>(state.range(1));
  LoggedExecutor logged;
  testing::report_ratio(
      state, [&] { return rendezvous_wall_seconds(*logged.executor, replicas); },
      [&] { return testing::condvar_seconds(replicas, 500, cpus); });
}
BENCHMARK(BM_AgainstCondvar)
    ->ArgNames({"replicas", "one_cpu"})
    ->Args({8, 0})
    ->Args({8, 1})
    ->Args({64, 1})
    ->UseManualTime()
    ->Iterations(7);

// Measured: the wall time of a rendezvous. Compared with: threads that wait at a std::barrier, on
// all CPUs or on one.
void BM_AgainstBarrier(benchmark::State& state) {
  const auto replicas = static_cast<int>(state.range(0));
  const auto cpus = static_cast<Cpus>(state.range(1));
  LoggedExecutor logged;
  testing::report_ratio(
      state, [&] { return rendezvous_wall_seconds(*logged.executor, replicas); },
      [&] { return testing::barrier_seconds(replicas, 2000, cpus); });
}
BENCHMARK(BM_AgainstBarrier)
    ->ArgNames({"replicas", "one_cpu"})
    ->Args({8, 0})
    ->Args({8, 1})
    ->Args({64, 1})
    ->UseManualTime()
    ->Iterations(7);

// Measured: the wall time of a run with `merges` rendezvous. Compared with: a run that starts a
// thread for each replica, lets the threads take turns with two events each, and joins the threads,
// as in TensorFlow.
void BM_RunAgainstThreadsPerRun(benchmark::State& state) {
  const auto replicas = static_cast<int>(state.range(0));
  const auto merges = static_cast<int>(state.range(1));
  LoggedExecutor logged;
  testing::RoundsJob run(*logged.executor, replicas, merges);
  constexpr int kRuns = 10'000;
  const auto run_of_fibers = [&] {
    const double total = testing::seconds([&] {
      for (int i = 0; i < kRuns; ++i) run.carry();
    });
    return total / kRuns;
  };
  const auto run_of_threads = [&] {
    return testing::event_pair_run_seconds(replicas, merges, Cpus::kAll);
  };
  testing::report_ratio(state, run_of_fibers, run_of_threads);
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
