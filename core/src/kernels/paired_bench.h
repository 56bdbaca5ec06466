// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/testing/paired.h"

#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

/// Comparisons of loops in the same run. Benchmarks report ratios of neighbours in time, because
/// the speed of a machine changes within minutes.
namespace belfry::bench {

/// One call of a loop.
using Work = std::function<void()>;

/// Processor time of the thread for a call of `work`. Other programs do not add to processor
/// time.
inline double seconds_of(const Work& work, int repetitions) {
  const auto all = [&] {
    for (int r = 0; r < repetitions; ++r) work();
  };
  return testing::cpu_seconds(all) / repetitions;
}

/// Times several works in rounds, and reports ratios between the times of one round.
class Comparison {
 public:
  /// Times every work once a round, until `state` has enough rounds. Each round begins with the
  /// next work.
  Comparison(benchmark::State& state, const std::vector<Work>& works) : state_(state) {
    const double once = seconds_of(works[0], 1);
    const double warm = std::min(once, seconds_of(works[0], 1));
    const int repetitions = static_cast<int>(std::clamp(50e-6 / warm, 1.0, 10000.0));
    std::size_t turn = 0;
    while (state.KeepRunning()) {
      std::vector<double> round(works.size());
      for (std::size_t w = 0; w < works.size(); ++w) {
        const std::size_t at = (turn + w) % works.size();
        works[at]();  // Fills the caches with the data of the work.
        round[at] = seconds_of(works[at], repetitions);
      }
      ++turn;
      state.SetIterationTime(round[0]);
      rounds_.push_back(std::move(round));
    }
  }

  /// Reports how many times as long as work 0 the fastest of `others` takes: the median and the
  /// quartiles of the ratios of all rounds. The fastest work has the least median. The least time
  /// of each round would favour long lists: of equally fast works, more have more chances.
  void report(const std::string& name, const std::vector<std::size_t>& others) const {
    const std::size_t fastest =
        *std::ranges::min_element(others, {}, [this](std::size_t work) { return median_of(work); });
    std::vector<double> ratios;
    for (const auto& round : rounds_) ratios.push_back(round[fastest] / round[0]);
    std::sort(ratios.begin(), ratios.end());
    state_.counters[name] = ratios[ratios.size() / 2];
    state_.counters[name + "_q1"] = ratios[ratios.size() / 4];
    state_.counters[name + "_q3"] = ratios[ratios.size() * 3 / 4];
  }

 private:
  double median_of(std::size_t work) const {
    std::vector<double> times;
    for (const auto& round : rounds_) times.push_back(round[work]);
    std::ranges::sort(times);
    return times[times.size() / 2];
  }

  benchmark::State& state_;
  std::vector<std::vector<double>> rounds_;
};

/// Buffers in one block of memory, with all pages touched, on huge pages if the system has any. No
/// two buffers begin at the same offset of a page, and compete for the same cache lines. No
/// distance is a large power of two: buffers in one row of the memory's banks would be slow.
class Arena {
 public:
  Arena(std::size_t count, std::size_t bytes)
      : step_((bytes + kStagger + kLine - 1) / kLine * kLine), size_(count * step_ + kHuge) {
    void* const memory =
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    memory_ = static_cast<std::byte*>(memory);
    madvise(memory_, size_, MADV_HUGEPAGE);
    std::memset(memory_, 0, size_);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    if (memory_ != nullptr) munmap(memory_, size_);
  }

  bool is_allocated() const { return memory_ != nullptr; }

  template <class T>
  T* at(std::size_t index) const {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_);
    const std::size_t start = (address + kHuge - 1) / kHuge * kHuge - address;
    return reinterpret_cast<T*>(memory_ + start + index * step_);
  }

 private:
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kStagger = 9280;
  static constexpr std::size_t kHuge = std::size_t{1} << 21;

  std::byte* memory_ = nullptr;
  std::size_t step_;
  std::size_t size_;
};

}  // namespace belfry::bench
