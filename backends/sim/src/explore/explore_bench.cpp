// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The cost of explorations. `observed` and `verdict` are ratios to the run of the same body with a
// log alone: the observed run of the judged schedule, and the whole exploration, which ends with a
// certificate. Ratios above their limits
// end the program with an error.
//
// The program is built twice: explore_bench has no watched code, and explore_watched_bench has the
// same bodies watched.
#include "belfry/sim/explore.h"
#include "explore/body_run.h"
#include "kernels/paired_bench.h"
#include "testing/timed_programs.h"
#include "watch/run_time.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

namespace belfry::sim::explore_bench {
namespace {

using bench::Comparison;
using namespace testing;
using Program = double (*)(Backend&);

#ifdef BELFRY_WATCHED_BENCH
constexpr double kMostObserved = 8;
constexpr double kMostVerdict = 15;
void be_watched() {}
#else
constexpr double kMostObserved = 2.5;
constexpr double kMostVerdict = 10;

// Stands for watched code without accesses that replicas share: the costs are those of all the
// rest.
class NoAccesses final : public watch::RunTime {
 public:
  void start() override {}
  void enter(const Actor&, const void*) override {}
  void leave() override {}
  void begin_phase() override {}
  void make_variable(std::uint32_t) override {}
  void take_variable(std::uint32_t) override {}
  watch::HostReport stop() override {
    watch::HostReport report;
    report.accesses = 1;
    return report;
  }
  CallSite source_site(const void*) override { return {}; }
};

void be_watched() {
  static NoAccesses none;
  if (!watch::linked()) watch::attach(none);
}
#endif

// The options of a judged run.
Options judged(int replicas, std::uint64_t seed = 1) {
  Options options;
  options.devices = replicas;
  options.digests = Digests::kAll;
  options.seed = seed;
  options.record_limit = std::size_t{1} << 20;
  return options;
}

void log_run(const Options& options, Program program) {
  Backend backend(options);
  benchmark::DoNotOptimize(program(backend));
}

void observe_run(const Options& options, Program program) {
  const BodyRun run(
      options, {}, [&](Backend& backend) { return detail::result_of<double>(program(backend)); },
      Scrutiny::kAll);
  benchmark::DoNotOptimize(run.outcome());
}

void certify(const Options& options, Program program) {
  const Verdict verdict = explore(options, program);
  if (verdict.level() != VerdictLevel::kCertified) throw std::runtime_error(explain(verdict));
}

// All ratios above their limits, in words.
std::string& exceeded() {
  static std::string all;
  return all;
}

void require_at_most(benchmark::State& state, const std::string& of, const std::string& ratio,
                     double limit) {
  const double found = state.counters[ratio];
  if (found <= limit) return;
  exceeded() += of + ": " + ratio + " is " + std::to_string(found) + ", and the limit is " +
                std::to_string(limit) + "; ";
}

void BM_Observe(benchmark::State& state, const char* name, Program program) {
  const Options options = judged(8);
  const Comparison comparison(
      state, {[&] { log_run(options, program); }, [&] { observe_run(options, program); }});
  comparison.report("observed", {1});
  require_at_most(state, name, "observed", kMostObserved);
}

void BM_Certify(benchmark::State& state, const char* name, Program program) {
  be_watched();
  const Options options = judged(8);
  const Comparison comparison(
      state, {[&] { log_run(options, program); }, [&] { certify(options, program); }});
  comparison.report("verdict", {1});
  require_at_most(state, name, "verdict", kMostVerdict);
}

// How many times as long a run of 512 replicas takes as runs of 8 replicas with as many rounds of
// replicas. The C library keeps freed memory after the first large run; before, each large run
// would get fresh pages of the system.
double growth(benchmark::State& state, void (*run)(const Options&, Program), Program program) {
  const Options few = judged(8), many = judged(512);
  run(many, tensor_reductions);
  const Comparison comparison(state, {[&] {
                                        for (int i = 0; i < 64; ++i) run(few, program);
                                      },
                                      [&] { run(many, program); }});
  comparison.report("times_as_long", {1});
  return state.counters["times_as_long"];
}

// The growth with a log alone, by program.
std::map<std::string, double>& logged_growth() {
  static std::map<std::string, double> all;
  return all;
}

void BM_LoggedReplicas(benchmark::State& state, const char* name, Program program) {
  logged_growth()[name] = growth(state, log_run, program);
}

// The same for observed runs. They may grow as fast as logged runs do when reductions grow beyond a
// cache.
void BM_Replicas(benchmark::State& state, const char* name, Program program) {
  growth(state, observe_run, program);
  require_at_most(state, name, "times_as_long", std::max(2.0, 1.25 * logged_growth()[name]));
}

// Schedules of 8 replicas in a second, each drawn from a seed of its own.
void BM_Schedules(benchmark::State& state, void (*run)(const Options&, Program)) {
  std::uint64_t seed = 0;
  for (auto _ : state) run(judged(8, ++seed), variable_reads);
  state.SetItemsProcessed(state.iterations());
}

// Certificates come last: from then on, the program is one with watched code.
#define BELFRY_OF_EACH_PROGRAM(benchmark, rounds)                                         \
  BENCHMARK_CAPTURE(benchmark, host_merges, "host_merges", host_merges)                   \
      ->UseManualTime()                                                                   \
      ->Iterations(rounds);                                                               \
  BENCHMARK_CAPTURE(benchmark, variable_reads, "variable_reads", variable_reads)          \
      ->UseManualTime()                                                                   \
      ->Iterations(rounds);                                                               \
  BENCHMARK_CAPTURE(benchmark, tensor_reductions, "tensor_reductions", tensor_reductions) \
      ->UseManualTime()                                                                   \
      ->Iterations(rounds);                                                               \
  BENCHMARK_CAPTURE(benchmark, map_reduction, "map_reduction", map_reduction)             \
      ->UseManualTime()                                                                   \
      ->Iterations(rounds);                                                               \
  BENCHMARK_CAPTURE(benchmark, nested_maps, "nested_maps", nested_map_reduction)          \
      ->UseManualTime()                                                                   \
      ->Iterations(rounds);                                                               \
  BENCHMARK_CAPTURE(benchmark, training_step, "training_step", training_step)             \
      ->UseManualTime()                                                                   \
      ->Iterations(rounds)

BELFRY_OF_EACH_PROGRAM(BM_Observe, 100);
BELFRY_OF_EACH_PROGRAM(BM_LoggedReplicas, 7);
BELFRY_OF_EACH_PROGRAM(BM_Replicas, 7);
BENCHMARK_CAPTURE(BM_Schedules, logged, log_run);
BENCHMARK_CAPTURE(BM_Schedules, observed, observe_run);
BELFRY_OF_EACH_PROGRAM(BM_Certify, 100);

// The last: ends the program if a ratio was above its limit.
void BM_Limits(benchmark::State& state) {
  for (auto _ : state) {
    if (!exceeded().empty()) throw std::runtime_error(exceeded());
  }
}
BENCHMARK(BM_Limits)->Iterations(1);

}  // namespace
}  // namespace belfry::sim::explore_bench
