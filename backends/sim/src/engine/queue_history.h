// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/unwatched.h"
#include "engine/command.h"

#include <memory>

namespace belfry::engine {

/// Whether the build has ThreadSanitizer.
#ifdef BELFRY_TSAN
inline constexpr bool kTsan = true;
#else
inline constexpr bool kTsan = false;
#endif

/// A queue as an agent of its own, for ThreadSanitizer. Waiting host code executes the work of
/// queues: without histories, ThreadSanitizer takes the accesses of bodies for accesses of the
/// host. With a history, a body of a user's kernel accesses memory as the queue, and races between
/// bodies and host code are found. Edges declare the promised order: a release at an edge happens
/// before a later acquire at the same edge. An edge is the address of an object known to both
/// sides.
///
/// Without ThreadSanitizer a history is empty, and bodies run on the caller's stack.
class QueueHistory {
 public:
#ifdef BELFRY_TSAN
  /// Earlier work of the caller happens before all work of the queue.
  QueueHistory();
  ~QueueHistory();
  QueueHistory(const QueueHistory&) = delete;
  QueueHistory& operator=(const QueueHistory&) = delete;

  /// Of the calling host code.
  static void release(const void* edge);
  static void acquire(const void* edge);
  /// Of the queue.
  void queue_releases(const void* edge);
  void queue_acquires(const void* edge);
  /// Earlier work of the queue happens before later work of the caller.
  void order_caller();
  /// Calls `command.run` as the queue, on a stack of the queue: on the caller's stack, locals of
  /// the caller and of the body would be at the same addresses, without an order. Throws: the
  /// exceptions of `command.run`.
  void run(const Command& command);

 private:
  struct Stack;

  void* fiber_;
  std::unique_ptr<Stack> stack_;  // Made for the first body.
#else
  static void release(const void*) {}
  static void acquire(const void*) {}
  void queue_releases(const void*) {}
  void queue_acquires(const void*) {}
  void order_caller() {}
  void run(const Command& command) { command.run(command); }
#endif
};

}  // namespace belfry::engine
