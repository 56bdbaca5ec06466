// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace belfry::detail {

/// The processes of a strategy over several processes.
struct ProcessTable {
  std::vector<int> first;  ///< The lowest replica of each process, then the number of replicas.
  int own = 0;             ///< This process.

  int process_of(int replica) const {
    return static_cast<int>(std::ranges::upper_bound(first, replica) - first.begin()) - 1;
  }
};

/// The replicas that take part in a run, or have a component of a value: all of them, some
/// (SEM-90), or none of this process (SEM-211).
class Participants {
 public:
  Participants() = default;
  /// All of `replicas`.
  explicit Participants(int replicas) : replicas_(replicas) {}
  /// `ids` are ascending and below `replicas`.
  Participants(int replicas, std::vector<int> ids)
      : replicas_(replicas), all_(static_cast<int>(ids.size()) == replicas), ids_(std::move(ids)) {
    if (all_) ids_.clear();
  }

  /// Some of the replicas of this process, with the processes of `own`.
  Participants(const Participants& own, std::vector<int> ids)
      : Participants(own.replicas_, std::move(ids)) {
    processes_ = own.processes_;
  }
  /// The replicas of this process among those of several processes.
  explicit Participants(ProcessTable processes)
      : Participants(processes.first.back(), ids_of(processes)) {
    processes_ = std::make_shared<const ProcessTable>(std::move(processes));
  }

  /// The number of replicas of the strategy, absent replicas included.
  int replicas() const { return replicas_; }
  int count() const { return is_all() ? replicas_ : static_cast<int>(ids_.size()); }
  bool is_all() const { return all_; }
  bool has(int replica) const { return is_all() || std::ranges::binary_search(ids_, replica); }
  /// The `position`-th participant.
  int id(int position) const {
    return is_all() ? position : ids_[static_cast<std::size_t>(position)];
  }
  /// The position of `replica`, a participant, among the participants.
  int position(int replica) const {
    if (is_all()) return replica;
    return static_cast<int>(std::ranges::lower_bound(ids_, replica) - ids_.begin());
  }

  /// For messages; null for a single process.
  const ProcessTable* processes() const { return processes_.get(); }

  bool operator==(const Participants& other) const {
    return replicas_ == other.replicas_ && all_ == other.all_ && ids_ == other.ids_;
  }

 private:
  static std::vector<int> ids_of(const ProcessTable& processes) {
    const auto own = processes.first.begin() + processes.own;
    std::vector<int> ids(static_cast<std::size_t>(own[1] - own[0]));
    std::iota(ids.begin(), ids.end(), own[0]);
    return ids;
  }

  int replicas_ = 0;
  bool all_ = true;
  std::vector<int> ids_{};  // Empty if all.
  // Shared with the strategy: values may outlive the strategy.
  std::shared_ptr<const ProcessTable> processes_{};
};

}  // namespace belfry::detail
