// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "polling.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace belfry::mpi {
namespace {

// Looks without a message before the first yield, and before the first sleep.
constexpr int kBusy = 200;
constexpr int kYielding = 2000;
constexpr int kShortestSleepUs = 20;
constexpr int kLongestSleepUs = 1000;

}  // namespace

std::int64_t now_ms() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

void Polling::pause() {
  ++looks_;
  if (looks_ <= kBusy) return;
  if (looks_ <= kYielding) {
    std::this_thread::yield();
    return;
  }
  const int sleep_us = std::min(kLongestSleepUs, kShortestSleepUs * (looks_ - kYielding));
  std::this_thread::sleep_for(std::chrono::microseconds(sleep_us));
}

}  // namespace belfry::mpi
