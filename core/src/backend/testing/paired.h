// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <vector>

namespace belfry::testing {

/// Seconds that `work()` takes.
template <class Work>
double seconds(Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Processor time of the calling thread, in seconds. For work on a single thread: other programs on
/// the machine disturb processor time less than wall time.
inline double cpu_now() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Processor time of the calling thread in `work()`, in seconds.
template <class Work>
double cpu_seconds(Work&& work) {
  const double begin = cpu_now();
  work();
  return cpu_now() - begin;
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Times `ours` and `baseline` in turn, because the speed of a machine changes within minutes, and
/// reports the medians. Each function returns the seconds of one unit of work. Counters:
///
///     base/ours  how many times as long the baseline takes: the median of the ratios of neighbours
///     ours/base  the inverse: what belfry costs, in units of the baseline
///     min        the least base/ours
template <class Ours, class Baseline>
void report_ratio(benchmark::State& state, Ours&& ours, Baseline&& baseline) {
  std::vector<double> own;
  std::vector<double> other;
  std::vector<double> quotients;
  ours();
  for ([[maybe_unused]] auto _ : state) {
    own.push_back(ours());
    other.push_back(baseline());
    quotients.push_back(other.back() / own.back());
    state.SetIterationTime(own.back());
  }
  state.counters["ours_ns"] = median(own) * 1e9;
  state.counters["base_ns"] = median(other) * 1e9;
  state.counters["base/ours"] = median(quotients);
  state.counters["min"] = std::ranges::min(quotients);
  state.counters["ours/base"] = 1 / median(quotients);
}

}  // namespace belfry::testing
