// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/fiber.h"

#include <boost/context/detail/fcontext.hpp>
#include <cxxabi.h>

#include <cstdlib>

namespace belfry::detail {
namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::ontop_fcontext;
using boost::context::detail::transfer_t;

// Completes, on the stack arrived at, what the stack that was left could not do itself.
BELFRY_UNWATCHED transfer_t arrive(transfer_t transfer) {
  Place& from = *static_cast<Place*>(transfer.data);
  from.point = transfer.fctx;
  asan_arrive(from.target->asan, from.asan);
  return transfer;
}

BELFRY_UNWATCHED void enter(transfer_t transfer) {
  auto& fiber = static_cast<Fiber&>(*static_cast<Place*>(arrive(transfer).data)->target);
  fiber.main(fiber);
  std::abort();  // `main` ends by leaving.
}

// Everything but the jump: from here on the thread belongs to `to`.
[[gnu::always_inline]] inline void hand_over(Place& from, Place& to, ExceptionGlobals* globals,
                                             bool last) {
  from.target = &to;
  *globals = to.exceptions;
  current = to.slot;
  asan_leave(from.asan, to.asan, last);
  tsan_leave(from.tsan, to.tsan);
}

// A stack that was left is resumed by a function that is called on top of it: its return matches
// the call by which that stack was left, which keeps the processor's prediction of returns in step.
// A plain jump makes it mispredict every return up to the replica's own code.
[[gnu::always_inline]] inline void jump(Place& from, Place& to) {
  if (to.entered) [[likely]] {
    ontop_fcontext(to.point, &from, arrive);
  } else {
    to.entered = true;
    jump_fcontext(to.point, &from);
  }
}

}  // namespace

// The layout is fixed by the Itanium C++ ABI: `caughtExceptions`, then `uncaughtExceptions`.
ExceptionGlobals* exception_globals() {
  return reinterpret_cast<ExceptionGlobals*>(abi::__cxa_get_globals());
}

void prepare_fiber(Fiber& fiber, char* low, char* high, void (*main)(Fiber&)) {
  fiber.main = main;
  fiber.entered = false;
  fiber.point = make_fcontext(high, static_cast<std::size_t>(high - low), enter);
}

void switch_places(Place& from, Place& to, ExceptionGlobals* globals) {
  from.exceptions = *globals;
  from.slot = current;
  hand_over(from, to, globals, false);
  jump(from, to);
}

BELFRY_UNWATCHED void leave_place(Place& from, Place& to, ExceptionGlobals* globals) {
  hand_over(from, to, globals, true);
  jump(from, to);
  std::abort();
}

}  // namespace belfry::detail
