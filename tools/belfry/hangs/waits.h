// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hangs/job.h"

#include <map>
#include <vector>

namespace belfry::tool::hangs {

/// A wait in a call for a rank before the call.
struct Wait {
  int rank = 0;
  int for_rank = 0;
  CallId call{};                 ///< Of a send or receive: number 0.
  const Entry* entry = nullptr;  ///< Of the rank that waits.
};

/// The waits of ranks for ranks, by the entries alone.
///
/// A rank waits in the first call without completion, and in further started calls. Calls behind
/// are entered and not reached: the device, or the host, of the rank waits before the calls.
class Waits {
 public:
  explicit Waits(const Job& job);

  /// The open calls of the rank, in the order of entry.
  const std::vector<const Entry*>& open(int rank) const;
  /// The waits of the rank, in the order of entry and of the awaited ranks.
  const std::vector<Wait>& of(int rank) const;
  /// The same for all ranks.
  std::vector<Wait> all() const;
  /// Whether the rank has completed the call, or waits in the call.
  bool has_reached(int rank, const CallId& call) const;

 private:
  struct Place {
    const Dump* dump = nullptr;
    std::vector<const Entry*> open{};
    std::vector<Wait> waits{};
    std::vector<bool> reached{};  // Of each entry of the dump.
  };

  void find_open(const Dump& dump, const std::vector<CallId>& calls);
  bool is_open(const Dump& dump, const Entry& entry, const CallId& call) const;
  bool has_reached(const Place& place, const Entry& entry) const;
  void add_waits(const Entry& entry, const CallId& call, Place& place) const;
  void add_peer(const Entry& entry, const Group& group, Place& place) const;

  const Job& job_;
  std::map<int, Place> places_;  // By rank.
};
/// A shortest circle of each set of ranks with waits for each other.
std::vector<std::vector<Wait>> circles(const Waits& waits, int ranks);

}  // namespace belfry::tool::hangs
