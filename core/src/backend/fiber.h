// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/carrier.h"
#include "backend/sanitizers.h"

namespace belfry::detail {

/// What the C++ runtime keeps for a thread about exceptions in flight; here it is kept for each
/// stack, so that a replica may be suspended inside a handler or while it unwinds.
struct ExceptionGlobals {
  void* caught = nullptr;
  unsigned uncaught = 0;
};

/// The calling thread's, which fibers never leave during a run.
ExceptionGlobals* exception_globals();

/// A stack that can be left and come back to, and everything that belongs to it while it is left.
struct Place {
  void* point = nullptr;  ///< Where it was left.
  bool entered = true;    ///< False for a fiber that has not begun.
  bool detour = false;    ///< For whoever decides what is resumed.
  Place* target = nullptr;
  ExceptionGlobals exceptions{};
  CurrentSlot slot{};
  AsanStack asan{};
  TsanFiber tsan{};
};

/// A place with a stack of our own.
struct Fiber : Place {
  void (*main)(Fiber&) = nullptr;
};

/// Prepares `fiber` so that the first switch to it calls `main` on [low, high).
void prepare_fiber(Fiber& fiber, char* low, char* high, void (*main)(Fiber&));

/// Leaves `from`, where the caller is, for `to`. Returns when somebody switches back; `last` says
/// that nobody will.
void switch_places(Place& from, Place& to, ExceptionGlobals* globals, bool last);

}  // namespace belfry::detail
