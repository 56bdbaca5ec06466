// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/collective.h"
#include "belfry/detail/flight_ring.h"
#include "event.h"

#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace belfry::cuda {

/// Tells a flight recorder of the collectives of a communicator. An event on the stream of each
/// member shows the end of a collective.
class FlightCalls final : public detail::FlightSource {
 public:
  FlightCalls(std::shared_ptr<SharedState> shared, const detail::FlightGroup& group);
  FlightCalls(const FlightCalls&) = delete;
  FlightCalls& operator=(const FlightCalls&) = delete;
  ~FlightCalls() override;

  /// A collective follows; `members` is the number of parts of a tensor.
  void begin(const Collective& collective, std::size_t members);
  /// The collective is enqueued on the streams of the parts, a part for each member.
  void end(std::span<const CollectivePart> parts) noexcept;

  /// The communicator is aborted: events tell nothing from now on.
  void stop() noexcept;

  void update() noexcept override;

 private:
  struct Call {
    detail::FlightTicket ticket{};
    std::vector<std::unique_ptr<Event>> done{};  // Of each member.
  };

  static bool is_done(const Call& call);
  void retire();

  std::shared_ptr<SharedState> shared_;
  detail::FlightRing& ring_;
  detail::FlightGroup& group_;
  Call present_{};
  bool is_stopped_ = false;
  std::mutex mutex_;          // After the lock of the ring.
  std::deque<Call> pending_;  // Enqueued, in order.
};

}  // namespace belfry::cuda
