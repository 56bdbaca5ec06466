// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/fiber.h"

#include <boost/context/detail/fcontext.hpp>
#include <cxxabi.h>

#include <cstdlib>

namespace belfry::detail {
namespace {

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

BELFRY_UNWATCHED transfer_t enter(transfer_t transfer) {
  auto& fiber = static_cast<Fiber&>(*static_cast<Place*>(arrive(transfer).data)->target);
  fiber.main(fiber);
  std::abort();  // `main` ends by leaving.
}

}  // namespace

// The layout is fixed by the Itanium C++ ABI: `caughtExceptions`, then `uncaughtExceptions`.
ExceptionGlobals* exception_globals() {
  return reinterpret_cast<ExceptionGlobals*>(abi::__cxa_get_globals());
}

void prepare_fiber(Fiber& fiber, char* low, char* high, void (*main)(Fiber&)) {
  fiber.main = main;
  fiber.entered = false;
  // What runs first is called on top of this context, and never returns to it.
  fiber.point = make_fcontext(high, static_cast<std::size_t>(high - low), nullptr);
}

// Whoever is resumed is resumed by a function that is called on top of its stack: the return of
// that function matches the call by which the stack was left, and so on outwards, which keeps the
// processor's prediction of returns in step. After a plain jump it mispredicts every return up to
// the replica's own code. For the same reason this is the only place that switches, and whoever
// wants to be resumed should call it from one place.
BELFRY_UNWATCHED void switch_places(Place& from, Place& to, ExceptionGlobals* globals, bool last) {
  from.target = &to;
  from.exceptions = *globals;
  from.slot = current;
  *globals = to.exceptions;
  current = to.slot;
  const auto resume = to.entered ? arrive : enter;
  to.entered = true;
  asan_leave(from.asan, to.asan, last);
  tsan_leave(from.tsan, to.tsan);
  ontop_fcontext(to.point, &from, resume);
}

}  // namespace belfry::detail
