// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/queue_history.h"

#ifdef BELFRY_TSAN

#include <sanitizer/tsan_interface.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <ucontext.h>

#include <cstdint>
#include <exception>
#include <new>
#include <utility>

// For functions with parts in the histories of two agents. Their locals would look like memory of
// both agents.
#define BELFRY_UNWATCHED __attribute__((no_sanitize("thread")))

namespace belfry::engine {
namespace {

// Address space: pages get memory at their first use.
constexpr std::size_t kStackBytes = std::size_t{8} << 20;
constexpr std::size_t kGuardBytes = 4096;

constexpr unsigned kNoOrder = __tsan_switch_to_fiber_no_sync;

void* mutable_address(const void* edge) { return const_cast<void*>(edge); }

}  // namespace

// A stack whose function never returns: the function runs one command after the other.
struct QueueHistory::Stack {
  Stack() {
    low = ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (low == MAP_FAILED) throw std::bad_alloc();
    ::mprotect(low, kGuardBytes, PROT_NONE);
    ::getcontext(&body);
    body.uc_stack.ss_sp = low;
    body.uc_stack.ss_size = kStackBytes;
    body.uc_link = nullptr;
    // A context takes numbers alone as arguments.
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    ::makecontext(&body, reinterpret_cast<void (*)()>(&Stack::main), 2,
                  static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
  }
  ~Stack() { ::munmap(low, kStackBytes); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  static void main(unsigned high, unsigned low);
  void run_command() noexcept;

  void* low = nullptr;
  ucontext_t caller{};
  ucontext_t body{};
  void* caller_fiber = nullptr;
  const Command* command = nullptr;
  std::exception_ptr thrown;
};

BELFRY_UNWATCHED void QueueHistory::Stack::main(unsigned high, unsigned low) {
  auto* const self = reinterpret_cast<Stack*>(std::uintptr_t{high} << 32 | low);
  for (;;) {
    self->run_command();
    __tsan_switch_to_fiber(self->caller_fiber, kNoOrder);
    ::swapcontext(&self->body, &self->caller);
  }
}

BELFRY_UNWATCHED void QueueHistory::Stack::run_command() noexcept {
  try {
    command->run(*command);
  } catch (...) {
    thrown = std::current_exception();
  }
}

QueueHistory::QueueHistory() {
  const detail::Unwatched unwatched;
  fiber_ = __tsan_create_fiber(0);
}

QueueHistory::~QueueHistory() {
  const detail::Unwatched unwatched;
  stack_.reset();
  __tsan_destroy_fiber(fiber_);
}

void QueueHistory::release(const void* edge) { __tsan_release(mutable_address(edge)); }

void QueueHistory::acquire(const void* edge) { __tsan_acquire(mutable_address(edge)); }

BELFRY_UNWATCHED void QueueHistory::queue_releases(const void* edge) {
  void* const caller = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber_, kNoOrder);
  __tsan_release(const_cast<void*>(edge));
  __tsan_switch_to_fiber(caller, kNoOrder);
}

BELFRY_UNWATCHED void QueueHistory::queue_acquires(const void* edge) {
  void* const caller = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber_, kNoOrder);
  __tsan_acquire(const_cast<void*>(edge));
  __tsan_switch_to_fiber(caller, kNoOrder);
}

void QueueHistory::order_caller() {
  queue_releases(this);
  acquire(this);
}

BELFRY_UNWATCHED void QueueHistory::run(const Command& command) {
  if (stack_ == nullptr) stack_ = std::make_unique<Stack>();
  // libstdc++ counts owners without atomic operations while a process has a single thread.
  if (__libc_single_threaded != 0) __libc_single_threaded = 0;
  stack_->command = &command;
  stack_->caller_fiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber_, kNoOrder);
  ::swapcontext(&stack_->caller, &stack_->body);
  if (stack_->thrown != nullptr) {
    std::rethrow_exception(std::exchange(stack_->thrown, nullptr));
  }
}

}  // namespace belfry::engine

#endif
