// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The executor with 100,000 replicas on fresh stacks, with a seeded order and a log. A replica's
// part of a rendezvous is compared with the same part among 1,000 replicas, in the same run:
// `ours/base` says how many times as long the part among many replicas takes.
// steady_state_bench.cpp measures 1,000,000 replicas of the whole library, and their memory.

#include "backend/testing/paired.h"
#include "backend/testing/rounds_job.h"

#include <benchmark/benchmark.h>

namespace belfry {
namespace {

constexpr int kRounds = 5;

// Processor times at the end of the first and of the last round, when all replicas wait.
struct Milestones {
  double first = 0;
  double last = 0;
};
Milestones g_milestones;

void note(testing::RoundsJob& job) {
  if (job.settled == 0) g_milestones.first = testing::cpu_now();
  if (job.settled == kRounds - 1) g_milestones.last = testing::cpu_now();
}

// A replica's part of a round, in seconds. The first round, which starts the replicas, is left out.
double round_seconds(int replicas, Executor& executor) {
  testing::RoundsJob job(executor, replicas, kRounds);
  job.on_settle = note;
  job.carry();
  return (g_milestones.last - g_milestones.first) / (kRounds - 1) / replicas;
}

void BM_ManyAgainstAThousand(benchmark::State& state) {
  testing::DrawnChooser chooser{1};
  testing::HashingSink sink;
  const auto executor = make_fiber_executor({.chooser = &chooser, .sink = &sink});
  testing::report_ratio(
      state, [&] { return round_seconds(static_cast<int>(state.range(0)), *executor); },
      [&] { return round_seconds(1000, *executor); });
}
BENCHMARK(BM_ManyAgainstAThousand)->Arg(100'000)->UseManualTime()->Iterations(7);

}  // namespace
}  // namespace belfry
