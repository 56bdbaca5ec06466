// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "races/clock.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

/// Points in the order of streams. Guarded by the lock of the RaceBook.
namespace belfry::driver {

/// A point in a stream: of a record, or the end of the work at a call.
struct OrderPoint {
  bool passed = false;
  sim::races::Clock clock{};            ///< Once passed: everything up to the point.
  std::vector<std::int32_t> waiting{};  ///< The numbers of the waiting streams.
};
// Shared by the event, the record and the waits.
using OrderPointPtr = std::shared_ptr<OrderPoint>;

/// The parts of a collective or a transfer, a single point.
struct Meeting {
  explicit Meeting(std::size_t parts) : missing(parts) {}

  std::size_t missing;                  ///< The number of parts not yet at the heads of streams.
  bool over = false;                    ///< Has taken place, or never will.
  std::vector<std::int32_t> streams{};  ///< With a part at the head.
};
// Shared by the parts.
using MeetingPtr = std::shared_ptr<Meeting>;

}  // namespace belfry::driver
