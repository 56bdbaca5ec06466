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

/// Seconds that the calling thread has computed so far. For work on one thread: what others do on a
/// shared machine counts less than it does on the clock.
inline double cpu_now() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

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

/// Measures `ours` and `baseline` in turn, so that both see the same machine, and reports the
/// median of the quotients of neighbouring measurements. Each returns seconds for one unit of work.
template <class Ours, class Baseline>
void report_pair(benchmark::State& state, Ours&& ours, Baseline&& baseline) {
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
