// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/sim/observer.h"
#include "engine/allocation.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace belfry::engine {

class CommandQueue;
struct HostWait;

/// The reason why a command could not run. A failure spreads to all work ordered after the command:
/// the rest of its queue, and queues that wait for events recorded there. Each reached queue has
/// its own failure, for hosts may learn of each at a different time.
struct Failure {
  std::exception_ptr exception;
  int device = -1;  ///< Of the queue that has failed; none of a deadlock.
  /// A host knows: events recorded before no longer pass the failure on. Guarded by the engine's
  /// lock.
  mutable bool told = false;
};

// Shared by a queue, the event records and the host waits that the failure has reached.
using FailurePtr = std::shared_ptr<const Failure>;

/// The failure of a record until a host knows the failure, then nothing.
inline FailurePtr untold(const FailurePtr& failure) {
  return failure == nullptr || failure->told ? nullptr : failure;
}

/// Thrown by the `run` of a command that may have written some of its bytes, and must not run
/// again: every byte that the command writes has no value afterwards.
struct PartlyDone {
  std::exception_ptr reason;  ///< The failure of the queue.
};

/// Work on a queue. Before `run`, every byte of `reads` must have been written; after `run`, every
/// byte of `writes` has been written. Both lists keep their allocations alive until the command is
/// done or dropped.
struct Command {
  std::string_view name = "command";  ///< For messages; must outlive the command (a literal).
  std::vector<Access> reads;
  std::vector<Access> writes;
  /// Does the work on the current host addresses of the accesses. The argument is the command. Runs
  /// with the engine locked, and must not call the engine. An exception becomes the queue's
  /// failure, with two exceptions. PartlyDone brings the failure. After std::bad_alloc `run` is
  /// called again, and must therefore throw std::bad_alloc before it changes bytes that it reads.
  /// May be empty.
  std::function<void(const Command&)> run;
  /// Whether `run` only copies reads[0] to each of `writes`. Whole allocations that can share bytes
  /// then share them instead.
  bool copies = false;
  /// The number of accesses at the end of `writes` to scratch memory: nobody reads the bytes later,
  /// and no digest has them.
  std::size_t scratch = 0;
  /// Whether `run` calls code of the user, on the stack of a stream.
  bool is_users = false;
  /// Whether `run` calls code of the program. The code may take a lock of the caller: waits and
  /// questions run the command, and calls for enqueuing work do not.
  bool calls_program = false;
  /// Whether `run` may write to `reads` by mistake. Shared bytes become private first: the mistake
  /// has effects on a single allocation, as on devices without sharing.
  bool may_write_reads = false;
  /// Of a collective: whether every device gets the same bytes, in the order of `writes`. One
  /// digest then stands for all devices.
  bool alike = false;
  std::optional<ReduceOp> op{};                   ///< Of a reduction; for a trace.
  std::function<void()> done{};                   ///< Called after the work, if it did not fail.
  std::vector<std::shared_ptr<const void>> held;  ///< Objects that live as long as the command.
  CallSite site{};
  int replica = -1;  ///< The replica that has enqueued the command; -1 outside replicas.
};

/// Work that several queues do together. Each queue *arrives* when its part gets to the head of the
/// queue, and then waits. After the arrival of all members the command runs once, for all members,
/// and all queues go on. The maker fills in `command` before the last member is enqueued.
struct Collective {
  explicit Collective(std::size_t members) : queues(members, nullptr) {}

  Command command;
  std::vector<CommandQueue*> queues;  ///< By member; null until that member is enqueued.
  std::size_t arrived = 0;
  // Set if the collective is given up. The collective then completes without running.
  FailurePtr failure;
};

// Shared by the member queues and by the code that enqueues member after member.
using CollectivePtr = std::shared_ptr<Collective>;

/// A record of an event: a point in a queue. Waits hold the record that was the latest at their
/// call: a later record does not move them.
struct EventRecord {
  std::uint64_t generation = 0;  ///< How many records of the event there have been, with this one.
  bool reached = false;
  FailurePtr failure;                         ///< Of the work before the point.
  std::size_t waits = 0;                      ///< Items of queues that wait for it, at most.
  std::vector<CommandQueue*> waiting_queues;  ///< Has room for all of them.
  std::vector<HostWait*> waiting_hosts;
  sim::EventName event{};  ///< EventPoint::name.
};

/// An event: its latest record, if any. Plain data, guarded by the engine's lock: only the engine
/// reads and changes an event.
struct EventPoint {
  // Shared with the queue that will reach the record, and with all waits for the record.
  std::shared_ptr<EventRecord> latest;
  sim::EventName name{};  // For an observer; without one no event has a name.
};

}  // namespace belfry::engine
