// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The cost of an access of watched code: outside a watch, the first in a phase, and an access
// again.
#include "host_watcher.h"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <vector>

extern "C" {
void __tsan_read8(void* at);
void __tsan_write8(void* at);
void __tsan_write_range(void* at, std::size_t bytes);
void __tsan_func_entry(void* return_address);
void __tsan_func_exit();
}

namespace {

using belfry::sim::watch::host_watcher;

constexpr std::size_t kWords = 4096;  // 32 KiB.

class Watch {
 public:
  Watch() {
    host_watcher().start();
    host_watcher().begin_phase();
    host_watcher().enter({{belfry::AgentId::Kind::kReplica, 0}, 1, 0}, this);
  }
  ~Watch() {
    host_watcher().leave();
    host_watcher().stop();
  }
};

template <class Access>
void every_word(benchmark::State& state, bool new_phases, Access access) {
  std::vector<double> words(kWords);
  for (auto _ : state) {
    if (new_phases) host_watcher().begin_phase();
    for (double& word : words) access(&word);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kWords));
}

void no_watch(benchmark::State& state) { every_word(state, false, __tsan_write8); }
void first_write(benchmark::State& state) {
  const Watch watch;
  every_word(state, true, __tsan_write8);
}
void write_again(benchmark::State& state) {
  const Watch watch;
  every_word(state, false, __tsan_write8);
}
void first_read(benchmark::State& state) {
  const Watch watch;
  every_word(state, true, __tsan_read8);
}
void call_and_return(benchmark::State& state) {
  const Watch watch;
  every_word(state, false, [](void*) {
    __tsan_func_entry(__builtin_return_address(0));
    __tsan_func_exit();
  });
}
// A word of a range of 32 KiB.
void range(benchmark::State& state) {
  const Watch watch;
  std::vector<double> words(kWords);
  for (auto _ : state) {
    host_watcher().begin_phase();
    __tsan_write_range(words.data(), kWords * sizeof(double));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kWords));
}

BENCHMARK(no_watch);
BENCHMARK(first_write);
BENCHMARK(write_again);
BENCHMARK(first_read);
BENCHMARK(call_and_return);
BENCHMARK(range);

}  // namespace
