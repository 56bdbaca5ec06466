// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace belfry::detail {

/// The replicas that take part in a run, or have a component of a value: all of them, or some
/// (SEM-90).
class Participants {
 public:
  Participants() = default;
  /// All of `replicas`.
  explicit Participants(int replicas) : replicas_(replicas) {}
  /// `ids` are ascending, below `replicas`, and at least one.
  Participants(int replicas, std::vector<int> ids) : replicas_(replicas), ids_(std::move(ids)) {
    if (static_cast<int>(ids_.size()) == replicas_) ids_.clear();
  }

  /// The number of replicas of the strategy, absent replicas included.
  int replicas() const { return replicas_; }
  int count() const { return is_all() ? replicas_ : static_cast<int>(ids_.size()); }
  bool is_all() const { return ids_.empty(); }
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
  std::vector<int> ids_;  // Empty: all.
};

}  // namespace belfry::detail
