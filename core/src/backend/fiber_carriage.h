// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/fiber.h"
#include "backend/stack_pool.h"

#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

namespace belfry::detail {

/// Carries replicas on stacks that the calling thread switches between.
class FiberCarriage {
 public:
  using Place = detail::Place;
  struct Seat : Carrier, Fiber {
    Gate* gate = nullptr;
    Stack stack{};
    void (*live)(Seat&) = nullptr;
  };
  // ThreadSanitizer could not tell the bodies apart.
  static constexpr bool kShares = !kTsan;

  explicit FiberCarriage(StackCache& stacks) : stacks_(&stacks) {}

  void begin(int replicas) {
    const auto count = static_cast<std::size_t>(replicas);
    if constexpr (kTsan) histories_.resize(count);
    stacks_->promise(count);
    promised_ = count;
    globals_ = exception_globals();
    if constexpr (kTsan) {
      // Made here, where what the caller did before is known to precede every body.
      for (TsanFiber& history : histories_) history.make();
    }
  }
  void end() {
    stacks_->waive(promised_);
    for (TsanFiber& history : histories_) history.destroy();
    histories_.clear();
  }

  Seat& seat(int replica, void (*live)(Seat&)) {
    const Stack stack = stacks_->take();
    --promised_;
    asan_renew(stack.high - kLeftovers, stack.high);
    tsan_renew(stack.low, stack.high);
    // The record shares the stack's first page. Its distance from the page's end differs from stack
    // to stack, lest all records and the frames below compete for the same lines of the caches.
    const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(stack.high) / kPage;
    char* const top = stack.high - (page % kColours) * kLine - sizeof(Seat) / kLine * kLine - kLine;
    auto* const seat = new (top) Seat;
    seat->replica = replica;
    seat->stack = stack;
    seat->live = live;
    if constexpr (kTsan) seat->tsan = histories_[static_cast<std::size_t>(replica)];
    asan_bounds(seat->asan, stack.low, stack.high);
    prepare_fiber(*seat, stack.low, top, [](Fiber& fiber) {
      auto& self = static_cast<Seat&>(fiber);
      self.live(self);
    });
    return *seat;
  }

  void switch_to(Place& from, Place& to) { switch_places(from, to, globals_, false); }

  // What a switch reads of the record. No more: what is fetched in vain drives out what others
  // need.
  [[gnu::always_inline]] void fetch(const Seat* seat) const {
    if (seat != nullptr) fetch_lines(reinterpret_cast<const char*>(seat), 2);
  }
  // The innermost frames, as far as a merge_call's.
  [[gnu::always_inline]] void fetch_frames(const Seat* seat) const {
    if (seat != nullptr) fetch_lines(static_cast<const char*>(seat->point), 8);
  }
  [[gnu::always_inline]] static void fetch_lines(const char* first, int lines) {
    for (int line = 0; line < lines; ++line) {
      __builtin_prefetch(first + line * static_cast<std::ptrdiff_t>(kLine));
    }
  }

  bool healthy(const Seat& seat) const { return seat.stack.guarded || !overflowed(seat.stack); }
  // The caller still stands on the stack; nothing is put there before it has left.
  void retire(Seat& seat) {
    if (healthy(seat)) stacks_->give(seat.stack);
  }
  [[noreturn]] BELFRY_UNWATCHED void leave(Seat& seat, Place& to) {
    switch_places(seat, to, globals_, true);
    std::abort();
  }
  [[noreturn]] BELFRY_UNWATCHED void forsake(Seat& seat, Place& to) {
    lsan_keep(seat.stack.low, seat.stack.high);
    // Not the last switch, after which AddressSanitizer would drop what it keeps beside the stack.
    switch_places(seat, to, globals_, false);
    std::abort();
  }

 private:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kColours = 48;
  static constexpr std::size_t kLeftovers = 16384;  // More than the frames that never return need.

  StackCache* stacks_;
  std::size_t promised_ = 0;  // Stacks that this run may still take.
  ExceptionGlobals* globals_ = nullptr;
  std::vector<TsanFiber> histories_;
};

}  // namespace belfry::detail
