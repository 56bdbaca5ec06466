// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "hangs/job.h"

#include <algorithm>
#include <set>
#include <utility>

namespace belfry::tool::hangs {
namespace {

int ranks_of(const std::vector<Dump>& dumps) {
  int ranks = 0;
  for (const Dump& dump : dumps) ranks = std::max({ranks, dump.ranks, dump.rank + 1});
  return ranks;
}

// The ranks of a group, as far as the dump has the ranks. The default group has all ranks.
std::vector<int> members_of(const DumpGroup& group, int ranks) {
  if (!group.ranks.empty() || group.description != "default_pg") return group.ranks;
  std::vector<int> all(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) all[static_cast<std::size_t>(rank)] = rank;
  return all;
}

// Two groups without a common rank may have equal names. A dump without the ranks of the group
// means the group with the rank of the dump.
using Key = std::pair<std::string, std::vector<int>>;

Key key_of(const DumpGroup& group, int rank, const std::set<Key>& known, int ranks) {
  const std::vector<int> members = members_of(group, ranks);
  if (!members.empty()) return {group.name, members};
  for (auto at = known.lower_bound({group.name, {}}); at != known.end(); ++at) {
    if (at->first != group.name) break;
    if (std::binary_search(at->second.begin(), at->second.end(), rank)) return *at;
  }
  return {group.name, {}};
}

}  // namespace

const Entry* Track::at(const CallId& call) const {
  const auto first =
      std::lower_bound(calls.begin(), calls.end(), call.seq,
                       [](const Entry* a, std::int64_t seq) { return a->seq < seq; });
  if (calls.end() - first <= static_cast<std::ptrdiff_t>(call.part)) return nullptr;
  const Entry* const entry = first[static_cast<std::ptrdiff_t>(call.part)];
  return entry->seq == call.seq ? entry : nullptr;
}

const Track* Group::track(int rank) const {
  const auto at = std::lower_bound(tracks.begin(), tracks.end(), rank,
                                   [](const Track& a, int other) { return a.rank < other; });
  return at == tracks.end() || at->rank != rank ? nullptr : &*at;
}

std::string Group::words() const {
  const bool described = !description.empty() && description != "undefined";
  return "group " + name + (described ? " (" + description + ")" : "");
}

Job::Job(std::vector<Dump> of_ranks) : dumps(std::move(of_ranks)), ranks(ranks_of(dumps)) {
  std::map<int, const Dump*> by_rank;
  for (const Dump& dump : dumps) by_rank[dump.rank] = &dump;
  for (int rank = 0; rank < ranks; ++rank) {
    if (!by_rank.contains(rank)) without_dump.push_back(rank);
  }
  find_groups(by_rank);
  place_calls();
}

void Job::find_groups(const std::map<int, const Dump*>& by_rank) {
  std::set<Key> known;
  for (const Dump& dump : dumps) {
    for (const DumpGroup& group : dump.groups) {
      Key key(group.name, members_of(group, ranks));
      if (!key.second.empty()) known.insert(std::move(key));
    }
  }
  std::map<Key, Group> found;
  std::map<std::pair<int, std::string>, Key> keys;
  for (const Dump& dump : dumps) {
    for (const DumpGroup& described : dump.groups) {
      const Key key = key_of(described, dump.rank, known, ranks);
      keys[{dump.rank, described.name}] = key;
      Group& group = found[key];
      group.name = described.name;
      if (!described.description.empty()) group.description = described.description;
      group.members_known = !key.second.empty();
      if (!group.members_known) group.tracks.push_back({.rank = dump.rank, .dump = &dump});
    }
  }
  std::map<Key, std::size_t> order;
  for (auto& [key, group] : found) {
    for (const int rank : key.second) {
      const auto with = by_rank.find(rank);
      group.tracks.push_back(
          {.rank = rank, .dump = with == by_rank.end() ? nullptr : with->second});
    }
    order[key] = groups.size();
    groups.push_back(std::move(group));
  }
  for (const auto& [rank_and_name, key] : keys) numbers_[rank_and_name] = order.at(key);
}

void Job::place_calls() {
  for (const Dump& dump : dumps) {
    std::vector<CallId>& placed = calls.emplace_back();
    std::vector<Track*> tracks(groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) {
      tracks[i] = const_cast<Track*>(groups[i].track(dump.rank));
    }
    for (const Entry& entry : dump.entries) {
      CallId call{.group = numbers_.at({dump.rank, entry.group}), .seq = entry.p2p ? 0 : entry.seq};
      Track& track = *tracks[call.group];
      if (!entry.p2p) {
        while (call.part < track.calls.size() &&
               (*(track.calls.rbegin() + static_cast<std::ptrdiff_t>(call.part)))->seq == entry.seq)
          ++call.part;
        track.calls.push_back(&entry);
        track.last_entered = std::max(track.last_entered, entry.seq);
      }
      placed.push_back(call);
    }
    for (const auto& [name, last] : dump.last_entered) {
      std::int64_t& entered = tracks[numbers_.at({dump.rank, name})]->last_entered;
      entered = std::max(entered, last);
    }
    for (Track* track : tracks) {
      if (track == nullptr) continue;
      if (track->calls.empty() && dump.is_cut()) track->last_entered = kUnknownCall;
      std::sort(track->calls.begin(), track->calls.end(), [](const Entry* a, const Entry* b) {
        return std::pair(a->seq, a->record) < std::pair(b->seq, b->record);
      });
    }
  }
}

}  // namespace belfry::tool::hangs
