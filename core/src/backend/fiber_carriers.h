// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/carriers.h"
#include "backend/stack_pool.h"
#include "backend/thread_state.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry::detail {

/// The data of the C++ runtime about exceptions in flight on a thread. Each fiber has data of its
/// own: a replica may be suspended inside a handler, or while its stack is unwound.
struct ExceptionGlobals {
  void* caught = nullptr;
  unsigned uncaught = 0;
};

/// A stack, and the state that belongs to the stack while the stack is suspended. The caller of a
/// run is a fiber, too, on the stack of its thread.
struct Fiber : TurnCarrier {
  void* point = nullptr;    ///< The position at which the stack was suspended.
  bool has_entered = true;  ///< False for a fiber that has not begun.
  bool has_left = false;    ///< The next switch is the last one.
  Fiber* target = nullptr;  ///< The fiber that the latest switch resumed.
  ExceptionGlobals exceptions{};
  int error = 0;  ///< errno: a replica may be suspended between a call and a look at its error.
  FloatControl control{};
  CurrentSlot slot{};
  Stack stack{};
  AsanStack asan{};
  TsanFiber tsan{};
  void* serial_edge = nullptr;  ///< For ThreadSanitizer, in a serial run.
};

/// Carries replicas on stacks of their own, all on the calling thread.
class [[gnu::visibility("hidden")]] FiberCarriers final : public Carriers {
 public:
  /// `stacks` outlive the object.
  explicit FiberCarriers(StackCache& stacks);

  TurnCarrier& begin(int replicas, bool serial) override;
  void end() override;
  TurnCarrier& start(int replica, void (*main)(TurnCarrier&)) override;
  void switch_to(TurnCarrier& from, TurnCarrier& to) override;
  [[noreturn]] void leave(TurnCarrier& from, TurnCarrier& to) override;
  [[noreturn]] void abandon(TurnCarrier& from, TurnCarrier& to) override;
  const Stack* stack_of(const TurnCarrier& carrier) const override {
    return &static_cast<const Fiber&>(carrier).stack;
  }
  void prefetch(const Turns& turns, std::span<TurnCarrier* const> carriers) override;

 private:
  void order_pause(const Fiber& fiber);
  void order_continuation(Fiber& fiber);

  StackCache* stacks_;
  std::size_t promised_ = 0;  // Stacks that the run may still take.
  ExceptionGlobals* globals_ = nullptr;
  int* error_ = nullptr;  // errno of the thread.
  Fiber caller_;
  bool serial_ = false;
  std::uint32_t prefetches_ = 0;
  std::vector<TsanFiber> histories_;  // By replica; empty without ThreadSanitizer.
};

}  // namespace belfry::detail
