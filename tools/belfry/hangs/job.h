// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hangs/dump.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace belfry::tool::hangs {

/// A call of a group: the same on all members.
struct CallId {
  std::size_t group = 0;  ///< Of Job::groups.
  std::int64_t seq = 0;
  std::size_t part = 0;  ///< Of operations with equal numbers.
  auto operator<=>(const CallId&) const = default;
};

/// Treats all calls as entered: no rank is blamed for lost calls.
inline constexpr std::int64_t kUnknownCall = std::numeric_limits<std::int64_t>::max();

/// The calls of a group on a member.
struct Track {
  int rank = 0;
  const Dump* dump = nullptr;         ///< Null for a rank without a dump.
  std::vector<const Entry*> calls{};  ///< By number. Older ones may be overwritten.
  /// The number of the last call: 0 without a call, kUnknownCall if the ring lost all.
  std::int64_t last_entered = 0;

  /// Null without an entry in the dump.
  const Entry* at(const CallId& call) const;
};

struct Group {
  std::string name{};
  std::string description{};
  std::vector<Track> tracks{};  ///< Of the members, in the order of the ranks.
  bool members_known = false;   ///< Else the members are the ranks with calls.

  /// Null for a rank outside of the group.
  const Track* track(int rank) const;
  std::string words() const;  ///< `group 0 (default_pg)`.
};

/// The dumps of a job, with the calls of each group side by side.
class Job {
 public:
  std::vector<Dump> dumps{};  ///< In the order of the ranks.
  int ranks = 0;
  std::vector<Group> groups{};  ///< In the order of the names.
  std::vector<int> without_dump{};
  /// The call of each entry of each dump; sends and receives have the number 0.
  std::vector<std::vector<CallId>> calls{};

  explicit Job(std::vector<Dump> of_ranks);
  Job(const Job&) = delete;  // Tracks point to dumps.
  Job& operator=(const Job&) = delete;

 private:
  using Key = std::pair<std::string, std::vector<int>>;  // The name and the ranks, if known.

  void find_groups(const std::map<int, const Dump*>& by_rank);
  void place_calls();

  std::map<std::pair<int, std::string>, std::size_t> numbers_;  // Of groups, by rank and name.
};

}  // namespace belfry::tool::hangs
