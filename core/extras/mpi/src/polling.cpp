// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "polling.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace belfry::mpi {
namespace {

constexpr int kShortestSleepUs = 20;
constexpr int kLongestSleepUs = 1000;

}  // namespace

std::int64_t now_ms() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

std::int64_t WaitedTime::read(const Deadline& deadline) {
  const std::int64_t longest = std::clamp<std::int64_t>(deadline.as_milliseconds() / 2, 1, 1000);
  const std::int64_t now = now_ms();
  waited_ms_ += std::min(now - std::exchange(last_ms_, now), longest);
  return waited_ms_;
}

void Polling::pause() {
  if (!is_asleep()) {
    ++looks_;
    if (is_crowded_ && looks_ > kCrowdedBusy) std::this_thread::yield();
    return;
  }
  const int sleep_us = std::min(kLongestSleepUs, kShortestSleepUs * (looks_ - awake()));
  if (sleep_us < kLongestSleepUs) ++looks_;
  std::this_thread::sleep_for(std::chrono::microseconds(sleep_us));
}

}  // namespace belfry::mpi
