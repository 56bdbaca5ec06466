// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <utility>
#include <vector>

/// Measuring one thing against others in the same run: machines differ, and one machine differs
/// from minute to minute, so what is reported are ratios of neighbours in time.
namespace belfry::bench {

/// Something to time, once.
using Work = std::function<void()>;

/// Of this thread's processor time: what other programs do beside it does not count.
inline double seconds_of(const Work& work, int repetitions) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  for (int r = 0; r < repetitions; ++r) work();
  return (now() - start) / repetitions;
}

/// Medians of the times of all works, and of ratios within one round of them.
class Comparison {
 public:
  /// Times every work in turn, beginning with another each time, until `state` has enough.
  Comparison(benchmark::State& state, const std::vector<Work>& works) : state_(state) {
    const double once = seconds_of(works[0], 1);
    const double warm = std::min(once, seconds_of(works[0], 1));
    const int repetitions = static_cast<int>(std::clamp(50e-6 / warm, 1.0, 10000.0));
    std::size_t turn = 0;
    while (state.KeepRunning()) {
      std::vector<double> round(works.size());
      for (std::size_t w = 0; w < works.size(); ++w) {
        const std::size_t at = (turn + w) % works.size();
        works[at]();  // What the one before left in the caches is not this one's doing.
        round[at] = seconds_of(works[at], repetitions);
      }
      ++turn;
      state.SetIterationTime(round[0]);
      rounds_.push_back(std::move(round));
    }
  }

  /// Reports how many times as long as work 0 the fastest of the others named took: that of the
  /// shortest median. The shortest time of each round would be as much shorter as there are more of
  /// them to be lucky, though they are equally fast.
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

/// Buffers in one block of touched memory, on huge pages where there are any. They begin neither at
/// the same place of a page, where they would compete for the same lines of the caches, nor in the
/// same row of the memory's banks, as those do that are a large power of two apart.
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
