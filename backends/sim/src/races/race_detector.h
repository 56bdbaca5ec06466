// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/observer.h"
#include "belfry/sim/race.h"
#include "log/actor_numbers.h"
#include "races/access_history.h"
#include "races/event_values.h"
#include "races/host_order.h"
#include "races/stream_order.h"
#include "watch/host_watch.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace belfry::sim::races {

/// Finds, from a single run, the accesses to device memory and to events whose order depends on the
/// schedule. Judges by the orders that hold in every schedule (HostOrder, StreamOrder), and never
/// by the order of the run: the same program gives the same races in every schedule that makes the
/// same submissions.
///
/// How the detector works. All orders begin at submissions: an item comes after earlier items of
/// its stream whose submission comes first in every schedule, after its submission, and after the
/// record for which the item waits. The place of an item is therefore known when the item is
/// submitted, and streams need no attention afterwards.
class RaceDetector final : public Observer {
 public:
  void observe(const Observation& seen) override;

  /// The buffer `resource` is memory of the program. Buffers over the same bytes are in conflict,
  /// too.
  void share(std::uint64_t resource, std::span<const std::byte> memory);
  /// An access of host code to such memory, after all observations so far. Pairs of host accesses
  /// are no matter of the detector.
  void touch(const watch::SharedAccess& seen);

  /// Accesses to memory in conflict, in the order of the second access. Conflicts between the same
  /// lines, work and agents are reported once, and at most kMostRaces.
  const std::vector<Race>& races() const { return races_; }
  /// For each of `races`, and for each of its accesses, the agents whose steps the access alone
  /// needs: a replica, a stream. The delay of the agents puts the access after the second one.
  const std::set<std::vector<AgentId>>& agents_of_races() const { return agents_of_races_; }
  /// Uses of events in conflict: a record, and a record, wait or query of a second agent.
  const std::vector<Race>& event_races() const { return event_races_; }
  /// Whether a replica began a run on the backend. Orders of nested runs are known for runs in
  /// merges alone.
  bool nests_in_replica() const { return nests_in_replica_; }

  static constexpr std::size_t kMostRaces = 64;

 private:
  struct Buffer {
    Actor maker{};
    std::uint32_t number = 0;  // Among the maker's buffers.
    AccessHistory history;
  };
  // A buffer over memory of the program: its bytes, as numbers of addresses.
  struct SharedBuffer {
    std::uint64_t resource = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  // A use of an event by a host agent: a record writes the event, a wait or a query reads it.
  struct EventUse {
    bool writes = false;
    std::uint32_t phase = 0;
    Lane lane = 0;
    std::uint32_t number = 0;
    Observation::Kind kind{};
    Actor actor{};
    CallSite site{};
    const void* code = nullptr;
  };
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;

  Buffer& buffer_of(std::uint64_t resource);
  void add_item(const Observation& seen, const HostAgent& agent, Clock before);
  void add_touches(const Observation& seen, BufferAccess access, const Clock& before);
  void add_touch(std::uint64_t resource, BufferAccess access, const Clock& before);
  void add_shared(const BufferAccess& access, const Clock& before);
  void report_shared(BufferAccess first, BufferAccess second);
  void note_submitted(const Observation& seen, HostAgent& agent);
  void note_read(const Observation& seen, HostAgent& agent);
  void note_waited(const Observation& seen, HostAgent& agent);
  void note_variable(const Observation& seen, HostAgent& agent);
  void use_event(const Observation& seen, HostAgent& agent, bool writes);
  void report(const Buffer& buffer, const BufferAccess& first, const BufferAccess& second);
  bool keep(std::vector<Race>& races, Race race);

  Lane lanes_ = 0;
  HostOrder hosts_{lanes_};
  StreamOrder streams_{lanes_};
  std::deque<AccessOrigin> origins_;          // Of all accesses in the histories.
  std::vector<std::vector<Buffer>> buffers_;  // By device, the host first, and number.
  ActorNumbers actors_;
  std::vector<std::uint32_t> buffers_made_;  // How many each agent has made, by actors_.
  std::vector<SharedBuffer> shared_;
  AccessHistory of_program_;  // Of shared memory, by address.
  EventValues<std::vector<EventUse>> events_;
  std::map<std::uint64_t, HostAgent> variables_;  // The makers, as of the making.
  std::vector<Race> races_;
  std::set<std::vector<AgentId>> agents_of_races_;
  std::vector<Race> event_races_;
  std::set<Key> seen_;
  bool nests_in_replica_ = false;
};

}  // namespace belfry::sim::races
