// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Processor time of the compiler, without optimization, for the property test of the tutorial. The
// baseline is a property test of RapidCheck and GoogleTest alone (rapidcheck_alone.cpp). Counters:
//
//     ours_s  seconds for the property test of the tutorial
//     more_s  the difference from the baseline in the same round
//
// Goals: ours_s at most 6, more_s at most 2.

#include "backend/testing/paired.h"

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry {
namespace {

double seconds_of_children() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double seconds_to_compile(const char* source) {
  const std::string command =
      std::string(BELFRY_COMPILE) + " -c " + BELFRY_SOURCES + source + " -o /dev/null";
  const double before = seconds_of_children();
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
  return seconds_of_children() - before;
}

void BM_CompileAFirstProperty(benchmark::State& state) {
  std::vector<double> own;
  std::vector<double> more;
  for ([[maybe_unused]] auto _ : state) {
    own.push_back(seconds_to_compile("/docs/examples/property.cpp"));
    more.push_back(own.back() - seconds_to_compile("/tools/bench/rapidcheck_alone.cpp"));
    state.SetIterationTime(own.back());
  }
  state.counters["ours_s"] = testing::median(own);
  state.counters["more_s"] = testing::median(more);
}
BENCHMARK(BM_CompileAFirstProperty)->UseManualTime()->Iterations(5);

}  // namespace
}  // namespace belfry
