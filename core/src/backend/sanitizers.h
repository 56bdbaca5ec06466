// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// All calls of executors to sanitizers and to valgrind. In builds without sanitizers the functions
// are empty, except valgrind_stack.

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
// The header of valgrind is optional. Its requests are instructions without effect outside
// valgrind.
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
// BELFRY_UNWATCHED is for functions that begin on a fiber and end on a different fiber: an
// Unwatched object belongs to a single fiber.
#ifdef BELFRY_TSAN
#include <sanitizer/tsan_interface.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#define BELFRY_UNWATCHED __attribute__((no_sanitize("thread")))
extern "C" void AnnotateBenignRaceSized(const char* file, int line, const volatile void* memory,
                                        std::size_t bytes, const char* text);
#else
#define BELFRY_UNWATCHED
#endif

namespace belfry::detail {

/// The data of AddressSanitizer about a stack that is not running.
struct AsanStack {
#ifdef BELFRY_ASAN
  void* fake = nullptr;
  const void* low = nullptr;
  std::size_t bytes = 0;
#endif
};

/// Called before a switch from `from` to `to`. `last`: `from` never runs again.
inline void asan_leave([[maybe_unused]] AsanStack& from, [[maybe_unused]] const AsanStack& to,
                       [[maybe_unused]] bool last) {
#ifdef BELFRY_ASAN
  __sanitizer_start_switch_fiber(last ? nullptr : &from.fake, to.low, to.bytes);
#endif
}

/// Called after a switch from `from` to `here`; stores the bounds of `from`.
inline void asan_arrive([[maybe_unused]] AsanStack& here, [[maybe_unused]] AsanStack& from) {
#ifdef BELFRY_ASAN
  __sanitizer_finish_switch_fiber(here.fake, &from.low, &from.bytes);
#endif
}

/// Called before [low, high) is used by a new fiber: no byte is poisoned any more.
inline void asan_renew([[maybe_unused]] char* low, [[maybe_unused]] char* high) {
#ifdef BELFRY_ASAN
  __asan_unpoison_memory_region(low, static_cast<std::size_t>(high - low));
#endif
}

/// Stores the bounds of a stack that the library has allocated.
inline void asan_bounds([[maybe_unused]] AsanStack& stack, [[maybe_unused]] char* low,
                        [[maybe_unused]] char* high) {
#ifdef BELFRY_ASAN
  stack.low = low;
  stack.bytes = static_cast<std::size_t>(high - low);
#endif
}

#ifdef BELFRY_ASAN
// AddressSanitizer may keep locals in its own memory; the stack then holds only their addresses.
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

/// Declares that the objects on the caller's stack, [low, high), are lost on purpose: the stack is
/// abandoned without unwinding.
inline void lsan_keep([[maybe_unused]] char* low, [[maybe_unused]] char* high) {
#ifdef BELFRY_ASAN
  __lsan_register_root_region(low, static_cast<std::size_t>(high - low));
  __builtin_unwind_init();  // Stores registers on the stack, with the addresses in them.
  lsan_keep_beside(high);
#endif
}

/// Tells valgrind that [low, high) is a stack. Otherwise a switch to a near stack looks like a call
/// or a return with many bytes of locals, and valgrind takes bytes between the stacks for lost.
inline void valgrind_stack([[maybe_unused]] char* low, [[maybe_unused]] char* high) {
#ifdef VALGRIND_STACK_REGISTER
  static_cast<void>(VALGRIND_STACK_REGISTER(low, high - 1));
#endif
}

/// A fiber of ThreadSanitizer. The creation of a fiber happens before everything the fiber does.
struct TsanFiber {
#ifdef BELFRY_TSAN
  void* handle = nullptr;
  void make() {
    // libstdc++ counts owners without atomic operations while a process has a single thread.
    if (__libc_single_threaded != 0) __libc_single_threaded = 0;
    handle = __tsan_create_fiber(0);
  }
  void destroy() { __tsan_destroy_fiber(handle); }
#else
  void make() {}
  void destroy() {}
#endif
};

/// Called before a switch from `from` to `to`. The switch itself orders nothing. Inlined: a call
/// would begin in the history of the old fiber and end in the history of the new fiber.
[[gnu::always_inline]] inline void tsan_leave([[maybe_unused]] TsanFiber& from,
                                              [[maybe_unused]] const TsanFiber& to) {
#ifdef BELFRY_TSAN
  from.handle = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.handle, __tsan_switch_to_fiber_no_sync);
#endif
}

/// Called before a new fiber uses [low, high): the accesses of the former and of the new fiber are
/// unordered.
inline void tsan_renew([[maybe_unused]] char* low, [[maybe_unused]] char* high) {
#ifdef BELFRY_TSAN
  // ThreadSanitizer forgets the accesses to memory that is mapped again.
  ::mmap(low, static_cast<std::size_t>(high - low), PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
#endif
}

/// Tells ThreadSanitizer that *number (errno) is per fiber.
inline void tsan_divide([[maybe_unused]] int* number) {
#ifdef BELFRY_TSAN
  AnnotateBenignRaceSized(__FILE__, __LINE__, number, sizeof(*number), "errno");
#endif
}

/// Declares that all accesses before a release at `edge` happen before all accesses after a later
/// acquire at `edge`.
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

/// Whether the build has ThreadSanitizer: every body then has its own fiber.
#ifdef BELFRY_TSAN
inline constexpr bool kTsan = true;
#else
inline constexpr bool kTsan = false;
#endif

/// Turns ThreadSanitizer on again for code of the user called under an Unwatched object.
class [[maybe_unused]] Watched {
 public:
#ifdef BELFRY_TSAN
  Watched() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
  ~Watched() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
#else
  Watched() = default;
#endif
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
};

}  // namespace belfry::detail
