// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/operation.h"
#include "belfry/call_site.h"
#include "belfry/detail/prints.h"

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace belfry::sim {

/// The agent that did something: a replica or a merge of a run, a stream, or host code outside
/// every run. Unlike the agents of the log, an Actor says in which run it acted, and device work of
/// a replica is the replica's and not the host's. No hash has an Actor.
struct Actor {
  /// A merge has the number of runs around its run: 0 unless runs nest.
  AgentId agent{};
  /// The number of the run, from 1, in the order in which the runs of the backend begin; 0 for
  /// streams, and for host code outside every run.
  std::uint32_t run = 0;
  std::uint32_t host = 0;  ///< The process; 0.

  auto operator<=>(const Actor&) const = default;
};

/// `R1 of run 2`, `S4`, `H0`.
std::string to_string(const Actor& actor);

/// A piece of work in a stream. Items are counted from 1, in the order of submission to the stream.
struct StreamItem {
  std::int32_t stream = 0;  ///< The number of the stream, as AgentId::index.
  std::uint64_t item = 0;   ///< From 1.

  auto operator<=>(const StreamItem&) const = default;
};

/// `item 3 of S4`.
std::string to_string(const StreamItem& item);

/// An event of a device. The maker and the maker's count of events name it in every schedule.
struct EventName {
  Actor maker{};             ///< The agent that made the event.
  std::uint32_t number = 0;  ///< From 1; 0: no event.

  auto operator<=>(const EventName&) const = default;
};

/// `event 2 of R1 of run 2`, `no event`.
std::string to_string(const EventName& event);

/// Something that happened in a simulated run. Members that a kind does not mention have their
/// default values. Views live until the observer returns.
struct Observation {
  /// The event that an observation is about.
  enum class Kind : std::uint8_t {
    kRunBegan,      ///< The actor began the run `run`.
    kRunEnded,      ///< The run `run` has ended; the actor goes on.
    kOperation,     ///< A replica or merge did `operation`: an arrival, an access to a variable.
    kAllocated,     ///< The actor got a buffer: `footprints`, one, is all of it.
    kSubmitted,     ///< The actor put the work `name` into streams, as `items`: of a collective,
                    ///< one of each member. `footprints` are the work's.
    kRecorded,      ///< The actor put a record of `event` into a stream: record `record` of it.
    kWaitQueued,    ///< The actor put a wait for record `record` of `event` into a stream. Without
                    ///< a record the wait waits for nothing, and there is no item.
    kArrived,       ///< The part of a collective in `items` has come to the head of its stream.
    kTookEffect,    ///< The work of `items` read and wrote `footprints`. Not for failed work.
    kReached,       ///< A stream reached record `record` of `event`.
    kPassed,        ///< A stream passed its wait for record `record` of `event`.
    kFinished,      ///< A stream has got past `items`; `failed`: the work failed or was skipped.
    kHostWaits,     ///< The actor waits for `items` and all before them in the stream, or, without
                    ///< items, for record `record` of `event`.
    kHostWaited,    ///< The same wait is over; `failed`: it throws.
    kHostRead,      ///< The actor has read `footprints`; `failed`: the read throws.
    kQueried,       ///< The actor asked whether `items`, or record `record` of `event`, are done;
                    ///< or, with a `name`, for the backend's `log`, `choices`, `memory` or `leaks`.
    kVariableMade,  ///< The first replica made variable `record`, in the order of the making.
    kVariableTaken,  ///< The actor got variable `record`, which the first replica has made.
    kCopiedOnWrite,  ///< The storage in `footprints` has a second owner, and the actor writes to a
                     ///< copy. With a single owner the write would be work of the stream of
                     ///< `items`, which has no number here.
    kForeignMemory,  ///< Memory of the program became a buffer, or a buffer memory of the program;
                     ///< `done`: the program's accesses to the memory are seen.
    kAbandoned,      ///< The actor ended without unwinding: all objects of its stack are lost.
  };

  Kind kind = Kind::kOperation;         ///< The event.
  Actor actor{};                        ///< The agent that acted.
  std::uint32_t run = 0;                ///< The run that began or ended.
  bool failed = false;                  ///< The work, the wait or the read failed.
  bool done = false;                    ///< The answer of kQueried; of kForeignMemory, see there.
  bool of_user = false;                 ///< The submitted work is a kernel of the user's.
  std::span<const StreamItem> items{};  ///< The pieces of work.
  EventName event{};                    ///< The event of a record or a wait.
  std::uint64_t record = 0;             ///< Counted from 1 for each event; 0: none. Of a
                                        ///< variable, its number.
  std::span<const Footprint> footprints{};  ///< The bytes that the work touches.
  std::string_view name{};                  ///< The name of the submitted work.
  /// The user's call that the actor carries out, or of the work; empty if not known.
  CallSite site{};
  const Operation* operation = nullptr;  ///< Of kOperation.
  /// An address in the code that called a stream, an event or a communicator, of an observation
  /// without a site; null: not known.
  const void* code = nullptr;
};

/// `submitted`, `took effect`, ...
const char* to_string(Observation::Kind kind);
/// `R1 of run 2 submitted fill, item 3 of S4, train.cpp:5`.
std::string to_string(const Observation& observation);

/// Sees each event in the runs of a backend, in order. An observer changes no choice, no hash and
/// no token. With the concurrent carrier, calls come from several threads, one at a time.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Called between two steps, with the engine locked: must not call the backend, and must not
  /// throw.
  virtual void observe(const Observation& observation) = 0;
};

using belfry::operator<<;

}  // namespace belfry::sim
