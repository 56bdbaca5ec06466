// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The exploration of a step of the demo on 8 replicas, with the code of the demo watched, in
// processor time. `verdict` is the ratio to a run with a log. A median above the limit ends the
// program.
#include "belfry/sim/explore.h"
#include "belfry/strategies.h"
#include "kernels/paired_bench.h"
#include "trainer.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::demo {
namespace {

constexpr double kMostSeconds = 0.050;
constexpr int kReplicas = 8;
constexpr int kBatch = 64;

// A step with the comparison with a single device, and the weights after the step.
std::vector<float> step(sim::Backend& backend, const Digits& digits) {
  MirroredStrategy strategy{backend};
  Trainer trainer(strategy, digits, {});
  std::vector<int> rows(kBatch);
  std::iota(rows.begin(), rows.end(), 0);
  if (!trainer.step(rows).within_bounds()) throw std::runtime_error("the step is wrong");
  return trainer.weights();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void BM_DemoStep(benchmark::State& state) {
  const Digits digits = read_digits(BELFRY_DEMO_DATA);
  const auto logged = [&] {
    sim::Backend backend({.devices = kReplicas, .digests = sim::Digests::kAll});
    benchmark::DoNotOptimize(step(backend, digits));
  };
  const auto explored = [&] {
    const sim::Verdict verdict = sim::explore(
        {.devices = kReplicas}, [&](sim::Backend& backend) { return step(backend, digits); });
    if (verdict.level() != sim::VerdictLevel::kCertified) {
      throw std::runtime_error(explain(verdict));
    }
  };
  logged();
  std::vector<double> times, ratios;
  while (state.KeepRunning()) {
    const double alone = bench::seconds_of(logged, 1);
    times.push_back(bench::seconds_of(explored, 1));
    ratios.push_back(times.back() / alone);
    state.SetIterationTime(times.back());
  }
  state.counters["milliseconds"] = 1000 * median(times);
  state.counters["verdict"] = median(ratios);
  if (median(times) > kMostSeconds) {
    throw std::runtime_error("the exploration takes " + std::to_string(median(times)) + " s");
  }
}
BENCHMARK(BM_DemoStep)->UseManualTime()->Iterations(20);

}  // namespace
}  // namespace belfry::demo
