// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace belfry::detail {

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

  bool operator==(const Participants&) const = default;

 private:
  int replicas_ = 0;
  bool all_ = true;
  std::vector<int> ids_{};  // Empty if all.
};

}  // namespace belfry::detail
