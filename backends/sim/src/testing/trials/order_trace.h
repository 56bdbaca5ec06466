// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/observer.h"
#include "belfry/sim/race.h"
#include "testing/trials/public_step.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::sim::testing {

/// Notes the orders of accesses over the schedules of a program: of work as the streams carry out
/// the work, of steps as the replicas begin the steps. Knows nothing of orders that hold in every
/// schedule: a judge of races that shares no code with the judged one.
class OrderTrace final : public Observer {
 public:
  /// `steps` are the steps of each replica; empty for programs without captured host memory.
  explicit OrderTrace(std::vector<std::vector<PublicStep>> steps) : steps_(std::move(steps)) {}

  void observe(const Observation& seen) override;
  /// A replica of the first run begins a step.
  void take(int replica, std::size_t position);
  /// A schedule is over, and the next one begins.
  void end_schedule();

  /// Whether two accesses with the agents and the subject of `race` were seen in both orders.
  bool reverses(const Race& race) const;
  /// A pair of accesses in conflict that was seen in both orders, in words; empty if there is none.
  std::string reversed_pair() const;

 private:
  /// An access that is the same in all schedules. `number` counts the agent's submissions, reads or
  /// steps.
  struct Access {
    std::string agent{};
    std::string subject{};
    char kind = 'w';  // Work, read by the host, use of an event, step, or body of a kernel.
    std::uint64_t number = 0;
    bool writes = false;
    bool may_write = false;
    std::uint64_t begin = 0;
    std::uint64_t end = 1;

    auto operator<=>(const Access&) const = default;
  };
  using Pair = std::pair<Access, Access>;

  std::uint64_t next(const Actor& actor, char kind) { return ++counts_[{actor, kind}]; }
  void add_footprints(const Observation& seen, const Access& as);
  void add_event(const Observation& seen, bool writes);
  void add_body(const Access& work);
  bool has_both(const Pair& pair) const { return orders_.contains({pair.second, pair.first}); }

  std::vector<std::vector<PublicStep>> steps_;
  std::set<Pair> orders_;  // Pairs in conflict, the first access before the second.
  // Of the present schedule:
  std::vector<Access> accesses_;
  std::map<std::pair<Actor, char>, std::uint64_t> counts_;
  std::map<std::uint64_t, std::string> buffers_;           // By resource.
  std::map<StreamItem, std::pair<Access, bool>> working_;  // And whether a kernel changes a cell.
  std::map<Actor, std::size_t> bodies_;                    // Bodies that have run, by launcher.
};

}  // namespace belfry::sim::testing
