// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "engine/allocation.h"

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace belfry::engine {

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
  std::vector<std::shared_ptr<const void>> held;  ///< Objects that live as long as the command.
  CallSite site{};
  int replica = -1;  ///< The replica that has enqueued the command; -1 outside replicas.
};

}  // namespace belfry::engine
