// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "hangs/waits.h"

#include "hangs/entry_words.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace belfry::tool::hangs {
namespace {

// The two numbers of `send 0->1` or `recv 1<-0`: the member and the peer.
struct Peers {
  bool sends = false;
  std::size_t here = 0;
  std::size_t there = 0;
};

std::optional<Peers> peers_of(const Entry& entry) {
  const std::string_view kind = entry.kind;
  Peers peers{.sends = kind.starts_with("send ")};
  if (!peers.sends && !kind.starts_with("recv ")) return std::nullopt;
  const std::string_view arrow = peers.sends ? "->" : "<-";
  const std::size_t at = kind.find(arrow);
  if (at == std::string_view::npos) return std::nullopt;
  const char* const end = kind.data() + kind.size();
  const char* const middle = kind.data() + at;
  const auto here = std::from_chars(kind.data() + 5, middle, peers.here);
  const auto there = std::from_chars(middle + 2, end, peers.there);
  if (here.ec != std::errc() || here.ptr != middle) return std::nullopt;
  if (there.ec != std::errc() || there.ptr != end) return std::nullopt;
  return peers;
}

}  // namespace

Waits::Waits(const Job& job) : job_(job) {
  for (std::size_t i = 0; i < job.dumps.size(); ++i) find_open(job.dumps[i], job.calls[i]);
  for (std::size_t i = 0; i < job.dumps.size(); ++i) {
    const Dump& dump = job.dumps[i];
    Place& place = places_.at(dump.rank);
    for (const Entry* entry : place.open) {
      add_waits(*entry, job.calls[i][static_cast<std::size_t>(entry - dump.entries.data())], place);
    }
  }
}

// Without states, `retired` tells calls completed or given up. A call of all ranks has not
// completed while a rank has not entered.
bool Waits::is_open(const Dump& dump, const Entry& entry, const CallId& call) const {
  if (entry.state == State::kCompleted) return false;
  if (dump.has_states || !entry.retired) return true;
  if (!waits_for_all(entry)) return false;
  const std::vector<Track>& tracks = job_.groups[call.group].tracks;
  return std::any_of(tracks.begin(), tracks.end(), [&](const Track& track) {
    return track.dump != nullptr && track.last_entered < call.seq;
  });
}

void Waits::find_open(const Dump& dump, const std::vector<CallId>& calls) {
  Place& place = places_[dump.rank];
  place.dump = &dump;
  bool first = true;
  for (std::size_t i = 0; i < dump.entries.size(); ++i) {
    const Entry& entry = dump.entries[i];
    const bool open = is_open(dump, entry, calls[i]);
    const bool reached = !open || first || entry.state == State::kStarted;
    place.reached.push_back(reached);
    if (open && reached) place.open.push_back(&entry);
    if (open) first = false;
  }
}

bool Waits::has_reached(const Place& place, const Entry& entry) const {
  return place.reached[static_cast<std::size_t>(&entry - place.dump->entries.data())];
}

bool Waits::has_reached(int rank, const CallId& call) const {
  const Track* const track = job_.groups[call.group].track(rank);
  if (track == nullptr || track->dump == nullptr || track->last_entered < call.seq) return false;
  const Entry* const entry = track->at(call);
  if (entry != nullptr) return has_reached(places_.at(rank), *entry);
  // The number is entered: the part is overwritten, or comes next.
  return track->calls.empty() || track->calls.front()->seq > call.seq ||
         (track->dump->is_cut() && track->calls.front()->seq == call.seq);
}

void Waits::add_waits(const Entry& entry, const CallId& call, Place& place) const {
  const Group& group = job_.groups[call.group];
  if (entry.p2p) return add_peer(entry, group, place);
  const int rank = place.dump->rank;
  for (const Track& track : group.tracks) {
    if (track.rank == rank || has_reached(track.rank, call)) continue;
    place.waits.push_back({rank, track.rank, call, &entry});
  }
}

// The sends from a rank to a peer meet the receives of the peer in order. Overwritten sends and
// receives cannot be counted.
void Waits::add_peer(const Entry& entry, const Group& group, Place& place) const {
  const std::optional<Peers> peers = peers_of(entry);
  if (!peers.has_value() || place.dump->is_cut()) return;
  const std::size_t members =
      group.members_known ? group.tracks.size() : static_cast<std::size_t>(job_.ranks);
  if (peers->there >= members) return;
  const int other =
      group.members_known ? group.tracks[peers->there].rank : static_cast<int>(peers->there);
  const auto count = [&](const Place& at, const std::string& kind) {
    return std::count_if(at.dump->entries.begin(), at.dump->entries.end(), [&](const Entry& e) {
      return e.group == entry.group && e.kind == kind && has_reached(at, e) &&
             (&at != &place || e.record <= entry.record);
    });
  };
  const auto there = places_.find(other);
  const std::string kind = (peers->sends ? "recv " : "send ") + std::to_string(peers->there) +
                           (peers->sends ? "<-" : "->") + std::to_string(peers->here);
  if (there != places_.end()) {
    if (there->second.dump->is_cut()) return;
    if (count(there->second, kind) >= count(place, entry.kind)) return;
  }
  place.waits.push_back({place.dump->rank,
                         other,
                         {.group = static_cast<std::size_t>(&group - job_.groups.data())},
                         &entry});
}

const std::vector<const Entry*>& Waits::open(int rank) const { return places_.at(rank).open; }

const std::vector<Wait>& Waits::of(int rank) const {
  static const std::vector<Wait> none;
  const auto place = places_.find(rank);
  return place == places_.end() ? none : place->second.waits;
}

std::vector<Wait> Waits::all() const {
  std::vector<Wait> all;
  for (const auto& [rank, place] : places_) {
    all.insert(all.end(), place.waits.begin(), place.waits.end());
  }
  return all;
}

}  // namespace belfry::tool::hangs
