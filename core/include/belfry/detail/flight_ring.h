// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/current_slot.h"
#include "belfry/call_site.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/dtype.h"
#include "belfry/flight_recorder.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace belfry {

struct ErrorReport;

namespace detail {

/// Ranks that do operations together: the replicas of a strategy, the devices of a communicator.
struct FlightGroup {
  std::string name{};     ///< Equal on all ranks of the group.
  std::string about{};    ///< `strategy`, `communicator`.
  std::string carrier{};  ///< The first part of the names of operations: `belfry`, `nccl`.
  /// The ranks of this process; of a group that is added, the numbers of the devices. -1: of a
  /// device without a rank.
  std::vector<int> own{};
  int size = 0;  ///< The ranks 0 to size - 1 of several processes; 0: `own` or `members` are all.
  std::vector<int> members{};  ///< Of some of these ranks, `own` among them.
  int process = 0;
  int processes = 1;
  std::map<std::uint64_t, std::string> variables{};  ///< The names, by number.
  std::uint64_t begun = 0;                           ///< Operations so far.
};

/// The state of an operation.
enum class FlightState : std::uint8_t { kScheduled, kStarted, kCompleted };

/// What the elements of an operation are.
struct FlightValues {
  std::optional<ReduceOp> op{};  ///< Of a reduction.
  std::optional<DType> dtype{};
  std::size_t count = 0;    ///< Elements of the first tensor.
  std::size_t tensors = 0;  ///< Tensors of the operation.
  int root = -1;
  std::uint64_t variable = 0;  ///< Its number and 1; 0: none.
};

/// An operation of the ranks of a group in this process.
struct FlightEntry {
  FlightGroup* group = nullptr;
  std::uint64_t number = 0;  ///< In the group, from 1.
  const char* verb = "";     ///< A literal.
  CallSite site{};
  FlightState state = FlightState::kScheduled;
  bool has_values = false;
  FlightValues values{};
  std::int64_t created_ns = 0;
  std::int64_t completed_ns = 0;
};

/// An entry that may have been overwritten since.
struct FlightTicket {
  FlightEntry* entry = nullptr;
  const FlightGroup* group = nullptr;
  std::uint64_t number = 0;
};

/// What a rank does.
struct FlightRank {
  int rank = 0;
  const char* state = "running";     ///< `running`, `waiting`, `ended`, `failed`.
  const char* in = nullptr;          ///< The verb in which the rank waits; null: none.
  CallSite site{};                   ///< Of the last call known.
  FlightGroup* scheduled = nullptr;  ///< The group of `in`, if `in` has no entry yet.
  FlightValues values{};             ///< Of `in`.
};

/// Tells what ranks do now, and what has become of operations.
class FlightSource {
 public:
  virtual ~FlightSource() = default;
  /// Appends the ranks of a run.
  virtual void show(std::vector<FlightRank>& /*ranks*/) const {}
  /// Updates the states of operations. Called with the lock of the ring.
  virtual void update() noexcept {}
};

/// The last operations of a backend. Without `share`, one thread at a time uses the ring.
class FlightRing {
 public:
  FlightRing(std::string prefix, const FlightRecorderOptions& options);

  const std::string& prefix() const { return prefix_; }
  const FlightRecorderOptions& options() const { return options_; }

  /// From now on several threads may use the ring. `clock` is the time in ns; the library has none.
  void share(std::int64_t (*clock)(), std::int64_t deadline_ms);
  /// The group stays as long as the ring.
  FlightGroup& add(FlightGroup group);
  /// Makes the group of the strategy on `devices` one of several processes, with a rank for each
  /// replica. `first` has the lowest rank of each process, then the number of ranks. The members of
  /// groups of this process alone have the same ranks from now on.
  void join(FlightGroup& group, const std::vector<int>& devices, int process,
            const std::vector<int>& first);
  /// The group of the ranks `members` of `whole`, `part` in words; made at the first call. Its name
  /// is equal in all processes of `whole`.
  FlightGroup& part(const FlightGroup& whole, const std::string& part, std::vector<int> members);
  void name(FlightGroup& group, std::uint64_t variable, const std::string& name);
  /// The program of this process has returned or is stopped: its ranks have ended, and later
  /// failures write nothing.
  void end();

  /// Adds an operation, which the ranks of this process enter.
  FlightTicket begin(FlightGroup& group, const char* verb, CallSite site) noexcept {
    if (is_shared_) [[unlikely]]
      return begin_shared(group, verb, site);
    return put(group, verb, site);
  }
  /// Whether `share` has been called.
  bool is_shared() const { return is_shared_; }
  /// The same without `share`, and with the state that the operation has unless `update` of a
  /// source tells another.
  FlightTicket begin_done(FlightGroup& group, const char* verb, const CallSite& site) noexcept {
    return put(group, verb, site, FlightState::kCompleted);
  }
  void set_values(const FlightTicket& ticket, const FlightValues& values) noexcept;
  void set_state(const FlightTicket& ticket, FlightState state) noexcept {
    if (is_shared_) [[unlikely]]
      return set_state_shared(ticket, state);
    if (is_there(ticket)) ticket.entry->state = state;
  }
  /// In `update`.
  void complete(const FlightTicket& ticket) noexcept {
    if (is_there(ticket)) mark_completed(*ticket.entry);
  }

  /// The host code of a replica, by its position in the run, begins or ends a wait for a device.
  void wait(int position, bool begins);
  /// In `show`.
  bool is_waiting(int position) const { return waits_.contains(position); }

  void add(FlightSource& source);
  /// After a last `update`.
  void remove(FlightSource& source) noexcept;

  /// The operations that have not ended, in words, with their lines; the last few of many.
  std::string open_calls();
  /// Writes a file for each rank. `reason`: `call`, `failure`, `deadline`, `signal`.
  /// Throws: InvalidArgumentError (kFile).
  void write(const std::string& prefix, const char* reason, const ErrorReport* error,
             CallSite site);
  /// The same after a failure, unless the options say otherwise.
  void write_failure(const char* reason, const ErrorReport& error) noexcept;
  /// The same, with a line on the error output in place of an error.
  void write_if_possible(const char* reason, const ErrorReport* error = nullptr) noexcept;

 private:
  FlightTicket put(FlightGroup& group, const char* verb, const CallSite& site,
                   FlightState state = FlightState::kScheduled) noexcept {
    FlightEntry& entry = *next_;
    next_ = &entry == last_ ? entries_.data() : &entry + 1;
    ++begun_;
    entry.group = &group;
    entry.number = ++group.begun;
    entry.verb = verb;
    entry.site = site;
    entry.state = state;
    entry.has_values = false;
    return {&entry, &group, entry.number};
  }
  static bool is_there(const FlightTicket& ticket) {
    return ticket.entry->number == ticket.number && ticket.entry->group == ticket.group;
  }
  FlightTicket begin_shared(FlightGroup& group, const char* verb, CallSite site) noexcept;
  void set_state_shared(const FlightTicket& ticket, FlightState state) noexcept;
  void mark_completed(FlightEntry& entry) noexcept;
  std::vector<const FlightEntry*> entries_of(int rank) const;
  std::vector<int> ranks_of(const std::vector<int>& devices) const;

  const std::string prefix_;
  const FlightRecorderOptions options_;
  std::vector<FlightEntry> entries_;
  FlightEntry* next_;
  FlightEntry* last_;
  std::uint64_t begun_ = 0;
  std::uint64_t begun_at_deadline_ =
      UINT64_MAX;  // The files of a deadline tell so many operations.
  bool is_shared_ = false;
  std::int64_t (*clock_)() = nullptr;
  std::int64_t deadline_ms_ = 0;
  mutable std::recursive_mutex mutex_;
  std::deque<FlightGroup> groups_;
  std::map<int, int> ranks_;  // Of the devices of strategies over several processes.
  bool is_over_ = false;      // The program.
  int joint_ = 0;             // Strategies over several processes.
  int joint_communicators_ = 0;
  std::vector<FlightSource*> sources_;
  std::set<int> waits_;
};

/// A wait of the calling replica for a device; nothing without a recorder, and outside of runs.
class FlightWait {
 public:
  explicit FlightWait(FlightRecorder* recorder)
      : ring_(recorder == nullptr ? nullptr : &recorder->ring()), position_(current_replica_id()) {
    if (ring_ != nullptr && position_ >= 0) ring_->wait(position_, true);
  }
  FlightWait(const FlightWait&) = delete;
  FlightWait& operator=(const FlightWait&) = delete;
  ~FlightWait() {
    if (ring_ != nullptr && position_ >= 0) ring_->wait(position_, false);
  }

 private:
  FlightRing* ring_;
  int position_;
};

}  // namespace detail
}  // namespace belfry
