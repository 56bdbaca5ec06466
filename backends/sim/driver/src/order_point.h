// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "races/clock.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

/// Points in the order of streams. Guarded by the lock of the RaceBook.
namespace belfry::driver {

/// A point in a stream: of a record, or the end of the work at a call.
struct OrderPoint {
  bool passed = false;
  bool asked = false;                   ///< By a query of the host.
  sim::races::Happening last{};         ///< Once passed: the last work of the stream.
  sim::races::Clock clock{};            ///< Once passed: everything up to the point.
  std::vector<std::int32_t> waiting{};  ///< The numbers of the waiting streams.
  OrderPoint* next = nullptr;           ///< In EndedPoints.
};
// Shared by the event, the record and the waits.
using OrderPointPtr = std::shared_ptr<OrderPoint>;

/// Points without owners. Clocks share parts without a lock of their own: points end under the lock
/// of the RaceBook, and owners may end anywhere.
class EndedPoints {
 public:
  EndedPoints() = default;
  EndedPoints(const EndedPoints&) = delete;
  EndedPoints& operator=(const EndedPoints&) = delete;
  ~EndedPoints() { clear(); }

  void add(OrderPoint* point) noexcept {
    const std::lock_guard lock(mutex_);
    point->next = std::exchange(first_, point);
  }
  void clear() {
    OrderPoint* point = nullptr;
    {
      const std::lock_guard lock(mutex_);
      point = std::exchange(first_, nullptr);
    }
    while (point != nullptr) delete std::exchange(point, point->next);
  }

 private:
  std::mutex mutex_;
  OrderPoint* first_ = nullptr;
};

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
