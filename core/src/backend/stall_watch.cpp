// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/stall_watch.h"

#include <utility>

namespace belfry {
namespace {

constinit thread_local StallWatch* watch_of_thread = nullptr;

}  // namespace

StallWatch* stall_watch() noexcept { return watch_of_thread; }

StallWatch* set_stall_watch(StallWatch* watch) noexcept {
  return std::exchange(watch_of_thread, watch);
}

}  // namespace belfry
