// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/flight_ring.h"
#include "run/rounds/replica_runner.h"

#include <cstdint>
#include <vector>

namespace belfry::detail {

/// Tells a flight recorder of the merges and the replicas of a run.
class RunFlight final : public FlightSource {
 public:
  /// The states and requests are those of the run, and outlive the object.
  RunFlight(StrategyCore& core, const ReplicaStates& states,
            const std::vector<MergeRequest*>& requests)
      : ring_(*core.flights()),
        group_(*core.flight_group()),
        core_(core),
        states_(states),
        requests_(requests),
        has_others_(!core.members().is_alone()),
        is_plain_(!has_others_ && !ring_.is_shared()),
        in_groups_(states.size()) {
    ring_.add(*this);
  }
  RunFlight(const RunFlight&) = delete;
  RunFlight& operator=(const RunFlight&) = delete;
  ~RunFlight() override { ring_.remove(*this); }

  /// Whether a merge begins before other processes agree.
  bool has_others() const { return has_others_; }
  /// All replicas of the process have arrived; `first` is the request of any.
  void begin(const MergeRequest& first, const char* verb) noexcept {
    ticket_ = ring_.begin(group_, verb, first.site);
    ++begun_;
    if (first.type->kind != MergeKind::kMergeCall) [[unlikely]]
      ring_.set_values(ticket_, values_of(first));
  }
  /// The merge function follows.
  void start(const MergeRequest& first, const char* verb, const Participants& present) noexcept {
    if (first.group != nullptr) [[unlikely]] {
      begin_in_group(first, verb, present);
    } else if (is_plain_) [[likely]] {
      open_ = ring_.begin_done(group_, verb, first.site).entry;
      ticket_.number = open_->number;
      ++begun_;
      if (first.type->kind != MergeKind::kMergeCall) [[unlikely]]
        ring_.set_values(open(), values_of(first));
      return;
    } else if (!has_others_) {
      begin(first, verb);
    }
    ring_.set_state(ticket_, FlightState::kStarted);
  }
  void complete() noexcept {
    const bool is_complete = is_plain_ && open_ != nullptr;
    open_ = nullptr;
    if (!is_complete) ring_.set_state(ticket_, FlightState::kCompleted);
  }
  /// The run fails for the first time.
  void fail(const ErrorReport& report) noexcept {
    const bool is_late = report.code == ErrorCode::kDeadline;
    ring_.write_failure(is_late ? "deadline" : "failure", report);
  }

  void show(std::vector<FlightRank>& ranks) const override;
  void update() noexcept override {
    if (!is_plain_ || open_ == nullptr) return;
    is_plain_ = false;  // `complete` changes the state that is told now.
    ticket_ = open();
    ring_.set_state(ticket_, FlightState::kStarted);
  }

 private:
  static FlightValues values_of(const MergeRequest& request);
  FlightGroup& group_of(const MergeRequest& request) const noexcept;
  void begin_in_group(const MergeRequest& first, const char* verb,
                      const Participants& present) noexcept;
  FlightTicket open() const { return {open_, &group_, ticket_.number}; }

  FlightRing& ring_;
  FlightGroup& group_;
  StrategyCore& core_;
  const ReplicaStates& states_;
  const std::vector<MergeRequest*>& requests_;
  const bool has_others_;
  // No other thread or process looks on: entries are completed, and `update` tells of the open
  // merge.
  bool is_plain_;
  FlightEntry* open_ = nullptr;  // Then: of the open merge, whose number `ticket_` has.
  FlightTicket ticket_{};
  std::uint32_t begun_ = 0;               // Merges of all replicas of this run.
  std::vector<std::uint32_t> in_groups_;  // Of groups, of each replica of the process.
};

}  // namespace belfry::detail
