// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every word that executors say to sanitizers. In other builds the functions are empty.

#include "belfry/backend/unwatched.h"

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define BELFRY_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BELFRY_ASAN 1
#endif
#endif

#ifdef BELFRY_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
// For the few functions that run before a fiber can say, or after it has said, what is not to be
// watched.
#ifdef BELFRY_TSAN
#include <sanitizer/tsan_interface.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#define BELFRY_UNWATCHED __attribute__((no_sanitize("thread")))
#else
#define BELFRY_UNWATCHED
#endif

namespace belfry::detail {

/// What AddressSanitizer keeps for a stack that is not running.
struct AsanStack {
#ifdef BELFRY_ASAN
  void* fake = nullptr;
  const void* low = nullptr;
  std::size_t bytes = 0;
#endif
};

/// About to leave `from` for `to`; `last` when `from` never runs again.
inline void asan_leave([[maybe_unused]] AsanStack& from, [[maybe_unused]] const AsanStack& to,
                       [[maybe_unused]] bool last) {
#ifdef BELFRY_ASAN
  __sanitizer_start_switch_fiber(last ? nullptr : &from.fake, to.low, to.bytes);
#endif
}

/// Has arrived at `here`, from `from`, whose bounds become known by this.
inline void asan_arrive([[maybe_unused]] AsanStack& here, [[maybe_unused]] AsanStack& from) {
#ifdef BELFRY_ASAN
  __sanitizer_finish_switch_fiber(here.fake, &from.low, &from.bytes);
#endif
}

/// A stack is used anew: nothing of its former life is poisoned any more.
inline void asan_renew([[maybe_unused]] char* low, [[maybe_unused]] char* high) {
#ifdef BELFRY_ASAN
  __asan_unpoison_memory_region(low, static_cast<std::size_t>(high - low));
#endif
}

/// The bounds of a stack of our own.
inline void asan_bounds([[maybe_unused]] AsanStack& stack, [[maybe_unused]] char* low,
                        [[maybe_unused]] char* high) {
#ifdef BELFRY_ASAN
  stack.low = low;
  stack.bytes = static_cast<std::size_t>(high - low);
#endif
}

#ifdef BELFRY_ASAN
// AddressSanitizer may put locals beside the stack, and then the stack has their addresses alone.
[[gnu::noinline, gnu::no_sanitize_address]] inline void lsan_keep_beside(const char* high) {
  void* const fake = __asan_get_current_fake_stack();
  auto* word = static_cast<void* const*>(__builtin_frame_address(0));
  for (; word < static_cast<const void*>(high); ++word) {
    void* low = nullptr;
    void* end = nullptr;
    if (__asan_addr_is_in_fake_stack(fake, *word, &low, &end) == nullptr) continue;
    const auto bytes = static_cast<std::size_t>(static_cast<char*>(end) - static_cast<char*>(low));
    __lsan_register_root_region(low, bytes);
  }
}
#endif

/// What lives on the caller's stack, [low, high), is lost on purpose: it is left, and neither ended
/// nor run again.
inline void lsan_keep([[maybe_unused]] char* low, [[maybe_unused]] char* high) {
#ifdef BELFRY_ASAN
  __lsan_register_root_region(low, static_cast<std::size_t>(high - low));
  __builtin_unwind_init();  // An address that is in a register alone comes onto the stack.
  lsan_keep_beside(high);
#endif
}

/// A fiber as ThreadSanitizer knows it. Making one orders what the maker did before what it does.
struct TsanFiber {
#ifdef BELFRY_TSAN
  void* handle = nullptr;
  void make() {
    // As long as there is one thread, libstdc++ counts owners without atomic operations.
    if (__libc_single_threaded != 0) __libc_single_threaded = 0;
    handle = __tsan_create_fiber(0);
  }
  void destroy() { __tsan_destroy_fiber(handle); }
#else
  void make() {}
  void destroy() {}
#endif
};

/// About to leave `from` for `to`. The switch itself orders nothing. Inlined: a call would begin in
/// the history of one fiber and end in that of the other.
[[gnu::always_inline]] inline void tsan_leave([[maybe_unused]] TsanFiber& from,
                                              [[maybe_unused]] const TsanFiber& to) {
#ifdef BELFRY_TSAN
  from.handle = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.handle, __tsan_switch_to_fiber_no_sync);
#endif
}

/// A stack is used anew, by somebody that what its former user did is not ordered with.
inline void tsan_renew([[maybe_unused]] char* low, [[maybe_unused]] char* high) {
#ifdef BELFRY_TSAN
  // ThreadSanitizer forgets what it knows of memory that is mapped anew.
  ::mmap(low, static_cast<std::size_t>(high - low), PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
#endif
}

/// Declares that what happened before a release at `edge` precedes what follows an acquire there.
inline void tsan_release([[maybe_unused]] void* edge) {
#ifdef BELFRY_TSAN
  __tsan_release(edge);
#endif
}
inline void tsan_acquire([[maybe_unused]] void* edge) {
#ifdef BELFRY_TSAN
  __tsan_acquire(edge);
#endif
}

/// Whether each body has a stack and a history of its own, or may go on where another ended.
#ifdef BELFRY_TSAN
inline constexpr bool kTsan = true;
#else
inline constexpr bool kTsan = false;
#endif

}  // namespace belfry::detail
