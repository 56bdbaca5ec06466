// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hangs/job.h"

#include <map>
#include <vector>

namespace belfry::tool::hangs {

/// A rank that waits in a call for another rank, which has not reached the call.
struct Wait {
  int rank = 0;
  int for_rank = 0;
  CallId call{};                 ///< Of a send or receive: number 0.
  const Entry* entry = nullptr;  ///< Of the rank that waits.
};

/// Who waits for whom, by the entries alone.
///
/// A rank waits in the first of its calls that have not completed, and in others that have started.
/// Behind them stand calls that the rank entered and has not reached: its device, or its host,
/// waits before them.
class Waits {
 public:
  explicit Waits(const Job& job);

  /// The calls that the rank waits in, in the order of its calls.
  const std::vector<const Entry*>& open(int rank) const;
  /// The waits of the rank, in the order of its calls and of the ranks that it waits for.
  const std::vector<Wait>& of(int rank) const;
  /// The same for all ranks.
  std::vector<Wait> all() const;
  /// Whether the rank has a call behind it, or waits in it.
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
/// A shortest circle of each set of ranks that wait for each other.
std::vector<std::vector<Wait>> circles(const Waits& waits, int ranks);

}  // namespace belfry::tool::hangs
