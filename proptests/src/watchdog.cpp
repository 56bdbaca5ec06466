// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/testing/watchdog.h"

#include "patrol.h"
#include "thread_watch.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace belfry::testing {
namespace {

constexpr double kMostSeconds = 4'000'000;  // A month and a half, in milliseconds of 32 bits.

std::uint32_t milliseconds_of(const WatchdogOptions& options) {
  const double limit_s = options.limit_s;
  if (!(limit_s >= 0 && limit_s <= kMostSeconds)) {
    throw std::invalid_argument("a watchdog has a limit from 0 to " +
                                std::to_string(static_cast<int>(kMostSeconds)) + " seconds");
  }
  return static_cast<std::uint32_t>(std::ceil(limit_s * 1000));
}

}  // namespace

WatchdogOptions watchdog_options() {
  WatchdogOptions options;
  const char* const word = std::getenv("BELFRY_WATCHDOG_S");
  if (word == nullptr || *word == '\0') return options;
  const std::string_view text(word);
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), options.limit_s);
  const bool is_limit = error == std::errc() && end == text.data() + text.size() &&
                        options.limit_s >= 0 && options.limit_s <= kMostSeconds;
  if (is_limit) return options;
  throw std::invalid_argument("BELFRY_WATCHDOG_S=" + std::string(text) +
                              ": a number of seconds, for example 2.5, or 0 for no watchdog");
}

ThreadWatch::ThreadWatch(std::uint32_t limit_ms)
    : limit_ms_(limit_ms), before_(set_stall_watch(limit_ms == 0 ? nullptr : this)) {
  if (limit_ms_ > 0) Patrol::shared().add(*this);
}

ThreadWatch::~ThreadWatch() {
  if (limit_ms_ > 0) Patrol::shared().remove(*this);
  set_stall_watch(before_);
}

// Moves are counted before the patrol may look again: the time of the run begins here.
void ThreadWatch::run_began(RunProgress& run) {
  count_move();
  const auto lock = Patrol::shared().lock();
  runs_.push_back(&run);
  OverflowHandler::set_run(&run);
}

void ThreadWatch::run_ended(RunProgress& run) noexcept {
  count_move();
  const auto lock = Patrol::shared().lock();
  std::erase(runs_, &run);
  OverflowHandler::set_run(innermost());
}

Watchdog::Watchdog(const WatchdogOptions& options)
    : watch_(std::make_unique<ThreadWatch>(milliseconds_of(options))) {}

Watchdog::~Watchdog() = default;

WatchdogOptions Watchdog::options_of_thread() {
  const auto* const watch = dynamic_cast<const ThreadWatch*>(stall_watch());
  return {.limit_s = watch == nullptr ? 0 : watch->limit_ms() / 1000.0};
}

}  // namespace belfry::testing
