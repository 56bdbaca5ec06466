// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/carrier.h"
#include "backend/stack_pool.h"
#include "backend/turns.h"
#include "belfry/backend/unwatched.h"

#include <boost/context/detail/fcontext.hpp>
#include <cxxabi.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <vector>

namespace belfry::detail {
namespace {

using boost::context::detail::make_fcontext;
using boost::context::detail::ontop_fcontext;
using boost::context::detail::transfer_t;

constexpr std::size_t kLine = 64;          // Of a cache.
constexpr std::size_t kLeftovers = 16384;  // More than the frames that never return need.

// The data of the C++ runtime about exceptions in flight on a thread. Each fiber has data of its
// own: a replica may be suspended inside a handler, or while its stack is unwound.
struct ExceptionGlobals {
  void* caught = nullptr;
  unsigned uncaught = 0;
};

// A stack, and the state that belongs to the stack while the stack is suspended. The caller of a
// run is a fiber, too, on the stack of its thread.
struct Fiber : TurnCarrier {
  void* point = nullptr;    // The position at which the stack was suspended.
  bool has_entered = true;  // False for a fiber that has not begun.
  bool has_left = false;    // The next switch is the last one.
  Fiber* target = nullptr;  // The fiber that the latest switch resumed.
  ExceptionGlobals exceptions{};
  int error = 0;  // errno: a replica may be suspended between a call and a look at its error.
  FloatControl control{};
  CurrentSlot slot{};
  Stack stack{};
  AsanStack asan{};
  TsanFiber tsan{};
  void* serial_edge = nullptr;  // For ThreadSanitizer, in a serial run.
};

// Carries replicas on stacks of their own, all on the calling thread.
class FiberCarriers final : public Carriers {
 public:
  // `stacks` outlive the object.
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

// Runs on the stack that is resumed, and stores the state of the suspended stack.
BELFRY_UNWATCHED transfer_t arrive(transfer_t transfer) {
  Fiber& from = *static_cast<Fiber*>(transfer.data);
  from.point = transfer.fctx;
  asan_arrive(from.target->asan, from.asan);
  return transfer;
}

BELFRY_UNWATCHED transfer_t enter(transfer_t transfer) {
  Fiber& fiber = *static_cast<Fiber*>(arrive(transfer).data)->target;
  if (kTsan && fiber.serial_edge != nullptr) tsan_acquire(fiber.serial_edge);
  fiber.main(fiber);
  std::abort();  // `main` ends in `leave`.
}

// The Itanium C++ ABI fixes the layout: `caughtExceptions`, then `uncaughtExceptions`.
ExceptionGlobals* exception_globals() {
  return reinterpret_cast<ExceptionGlobals*>(abi::__cxa_get_globals());
}

// The Fiber shares the first page of its stack. The distance from the end of the page differs from
// stack to stack: otherwise all Fibers and the frames below them compete for the same lines of the
// caches.
char* place_for_fiber(const Stack& stack) {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kColours = 48;
  const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(stack.high) / kPage;
  return stack.high - (page % kColours) * kLine - sizeof(Fiber) / kLine * kLine - kLine;
}

[[gnu::always_inline]] inline void prefetch_lines(const void* first, int lines) {
  for (int line = 0; line < lines; ++line) {
    __builtin_prefetch(static_cast<const char*>(first) + line * static_cast<std::ptrdiff_t>(kLine));
  }
}

// ThreadSanitizer cannot tell apart two bodies on one fiber.
FiberCarriers::FiberCarriers(StackCache& stacks) : Carriers(!kTsan), stacks_(&stacks) {}

TurnCarrier& FiberCarriers::begin(int replicas, bool serial) {
  const auto count = static_cast<std::size_t>(replicas);
  serial_ = serial;
  if constexpr (kTsan) histories_.resize(count);
  stacks_->promise(count);
  promised_ = count;
  globals_ = exception_globals();
  error_ = &errno;
  tsan_divide(error_);
  if constexpr (kTsan) {
    // Made here: everything that the caller has done so far happens before every body.
    for (TsanFiber& history : histories_) history.make();
  }
  return caller_;
}

void FiberCarriers::end() {
  stacks_->waive(promised_);
  if constexpr (kTsan) {
    for (TsanFiber& history : histories_) history.destroy();
    histories_.clear();
  }
}

TurnCarrier& FiberCarriers::start([[maybe_unused]] int replica, void (*main)(TurnCarrier&)) {
  const Stack stack = stacks_->take();
  --promised_;
  asan_renew(stack.high - kLeftovers, stack.high);
  tsan_renew(stack.low, stack.high);
  char* const top = place_for_fiber(stack);
  auto* const fiber = new (top) Fiber;
  fiber->main = main;
  fiber->has_entered = false;
  fiber->stack = stack;
  if constexpr (kTsan) {
    fiber->tsan = histories_[static_cast<std::size_t>(replica)];
    fiber->serial_edge = serial_ ? this : nullptr;
  }
  asan_bounds(fiber->asan, stack.low, stack.high);
  // No function: `enter` is called on top of this context, and never returns.
  fiber->point = make_fcontext(top, static_cast<std::size_t>(top - stack.low), nullptr);
  return *fiber;
}

// A stack is resumed by a function on top of the stack: the return of the function matches the call
// with the switch, the next return the call around the switch, and the processor's prediction of
// returns stays in step. After a plain jump, every return up to the replica's own code is predicted
// wrongly. For the same reason switch_to alone switches stacks.
BELFRY_UNWATCHED void FiberCarriers::switch_to(TurnCarrier& from, TurnCarrier& to) {
  auto& here = static_cast<Fiber&>(from);
  auto& there = static_cast<Fiber&>(to);
  order_pause(here);
  here.target = &there;
  here.exceptions = *globals_;
  here.error = *error_;
  if constexpr (!FloatControl::kKeptBySwitches) {
    here.control = FloatControl::current();
    there.control.restore();
  }
  here.slot = current;
  *globals_ = there.exceptions;
  *error_ = there.error;
  current = there.slot;
  const auto resume = there.has_entered ? arrive : enter;
  there.has_entered = true;
  asan_leave(here.asan, there.asan, here.has_left);
  tsan_leave(here.tsan, there.tsan);
  ontop_fcontext(there.point, &here, resume);
  order_continuation(here);
}

// `from` stands on its stack until the switch; no stack is taken in between.
BELFRY_UNWATCHED void FiberCarriers::leave(TurnCarrier& from, TurnCarrier& to) {
  {
    const Unwatched unwatched;
    auto& fiber = static_cast<Fiber&>(from);
    if (!overflowed(fiber.stack)) stacks_->give(fiber.stack);
    fiber.has_left = true;
  }
  switch_to(from, to);
  std::abort();
}

// `has_left` stays false: after a last switch AddressSanitizer drops the locals that it keeps.
BELFRY_UNWATCHED void FiberCarriers::abandon(TurnCarrier& from, TurnCarrier& to) {
  const Stack stack = static_cast<Fiber&>(from).stack;
  lsan_keep(stack.low, stack.high);
  switch_to(from, to);
  std::abort();
}

// In a run with many replicas, each turn needs a stack that has left the caches. The memory of a
// later turn is loaded in three steps: the pointer to the carrier, then the carrier, then the
// innermost frames on its stack, each step after the step before has had time to end. Carriers are
// loaded in batches: each is on a page of its own, and the processor can wait for the addresses of
// several pages at once. More than a switch and a merge_call read is not loaded: needless lines
// drive needed ones out of the cache.
void FiberCarriers::prefetch(const Turns& turns, std::span<TurnCarrier* const> carriers) {
  // Turns between a load and its use.
  constexpr std::size_t kFrames = 4;
  constexpr std::size_t kCarriers = 8;
  constexpr std::size_t kPointers = 12;
  constexpr std::size_t kBatch = 4;
  const auto carrier_at = [&](std::size_t ahead) -> const Fiber* {
    const int replica = turns.ahead(ahead);
    if (replica < 0) return nullptr;
    return static_cast<const Fiber*>(carriers[static_cast<std::size_t>(replica)]);
  };
  if (const Fiber* const next = carrier_at(kFrames)) prefetch_lines(next->point, 8);
  if (prefetches_++ % kBatch != 0) return;
  for (std::size_t k = 0; k < kBatch; ++k) {
    if (const Fiber* const later = carrier_at(kCarriers + k)) prefetch_lines(later, 2);
    const int last = turns.ahead(kPointers + k);
    if (last >= 0) __builtin_prefetch(static_cast<const void*>(carriers.data() + last));
  }
}

// The order between the replicas of a run and its caller, for ThreadSanitizer. A switch orders
// nothing by itself. The caller comes after every replica that has paused or ended (see
// order_settling), and a replica after the code that opened its gate (see order_resumption). The
// serial schedule promises more: a replica comes after the replicas before it.
void FiberCarriers::order_pause(const Fiber& fiber) {
  if (kTsan && fiber.replica >= 0) tsan_release(this);
}

void FiberCarriers::order_continuation(Fiber& fiber) {
  if (!kTsan || fiber.replica < 0) return;
  tsan_acquire(&fiber);
  if (serial_) tsan_acquire(this);
}

}  // namespace

std::unique_ptr<Carriers> make_fiber_carriers(StackCache& stacks) {
  return std::make_unique<FiberCarriers>(stacks);
}

}  // namespace belfry::detail
