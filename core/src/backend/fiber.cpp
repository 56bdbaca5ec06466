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
using boost::context::detail::transfer_t;

// Completes, on the stack arrived at, what the stack that was left could not do itself.
BELFRY_UNWATCHED Place& arrive(transfer_t transfer) {
  Place& from = *static_cast<Place*>(transfer.data);
  Place& here = *from.target;
  from.point = transfer.fctx;
  asan_arrive(here.asan, from.asan);
  return here;
}

BELFRY_UNWATCHED void enter(transfer_t transfer) {
  auto& fiber = static_cast<Fiber&>(arrive(transfer));
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
  fiber.point = make_fcontext(high, static_cast<std::size_t>(high - low), enter);
}

void switch_places(Place& from, Place& to, ExceptionGlobals* globals) {
  from.target = &to;
  from.exceptions = *globals;
  from.slot = current;
  *globals = to.exceptions;
  current = to.slot;
  asan_leave(from.asan, to.asan, false);
  tsan_leave(from.tsan, to.tsan);
  arrive(jump_fcontext(to.point, &from));
}

BELFRY_UNWATCHED void leave_place(Place& from, Place& to, ExceptionGlobals* globals) {
  from.target = &to;
  *globals = to.exceptions;
  current = to.slot;
  asan_leave(from.asan, to.asan, true);
  tsan_leave(from.tsan, to.tsan);
  jump_fcontext(to.point, &from);
  std::abort();
}

}  // namespace belfry::detail
