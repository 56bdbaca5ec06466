// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/testing/paired.h"

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

// How long a user waits for the compiler: the property test of the tutorial, without optimization,
// against one of RapidCheck and GoogleTest alone. In seconds of the processor, which a busy machine
// changes least.
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

// At most 6 s, and at most 2 s more than RapidCheck alone.
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
