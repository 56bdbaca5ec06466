// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The executor with up to 1,000,000 replicas on fresh stacks: the time of a rendezvous and the
// memory of a replica. BM_ManyReplicas reports absolute figures; BM_ManyAgainstAThousand compares a
// replica's part of a rendezvous with the same part among 1,000 replicas, in the same run:
// `ours/base` says how many times as long the part among many replicas takes.

#include "backend/testing/paired.h"
#include "backend/testing/rounds_job.h"

#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace belfry {
namespace {

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double pages = 0;
  statm >> pages >> pages;
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double page_faults() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_minflt);
}

// Readings at the end of the first and of the last round, when all replicas wait.
struct Milestones {
  double first = 0;
  double last = 0;
  double first_faults = 0;
  double last_faults = 0;
  double resident = 0;
};
Milestones g_milestones;

constexpr int kRounds = 5;

void note(testing::RoundsJob& job) {
  if (job.settled == 0) {
    g_milestones.first_faults = page_faults();
    g_milestones.resident = resident_bytes();
    g_milestones.first = testing::cpu_now();
  } else if (job.settled == kRounds - 1) {
    g_milestones.last = testing::cpu_now();
    g_milestones.last_faults = page_faults();
  }
}

double since_first() { return g_milestones.last - g_milestones.first; }

// Replicas meet `kRounds` times. The times of a round leave out the first, which starts the
// replicas.
void BM_ManyReplicas(benchmark::State& state) {
  const auto replicas = static_cast<double>(state.range(0));
  testing::DrawnChooser chooser{1};
  testing::HashingSink sink;
  const auto executor =
      make_fiber_executor(state.range(1) == 0 ? ExecutorParts{.sink = &sink}
                                              : ExecutorParts{.chooser = &chooser, .sink = &sink});
  for ([[maybe_unused]] auto _ : state) {
    const double before = resident_bytes();
    testing::RoundsJob job(*executor, static_cast<int>(replicas), kRounds);
    job.on_settle = note;
    const double whole = testing::cpu_seconds([&] { job.carry(); });
    state.SetIterationTime(whole);
    state.counters["ns/replica/round"] = since_first() * 1e9 / (kRounds - 1) / replicas;
    state.counters["B/replica"] = (g_milestones.resident - before) / replicas;
    state.counters["faults/round"] =
        (g_milestones.last_faults - g_milestones.first_faults) / (kRounds - 1);
    state.counters["ns/replica"] = whole * 1e9 / replicas;
  }
}
BENCHMARK(BM_ManyReplicas)
    ->ArgNames({"replicas", "seeded"})
    ->Args({1000, 1})
    ->Args({100'000, 0})
    ->Args({100'000, 1})
    ->Args({1'000'000, 0})
    ->Args({1'000'000, 1})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

// A replica's part of a round, in seconds, with a seeded order and the log.
double round_seconds(int replicas, Executor& executor) {
  testing::RoundsJob job(executor, replicas, kRounds);
  job.on_settle = note;
  job.carry();
  return since_first() / (kRounds - 1) / replicas;
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
