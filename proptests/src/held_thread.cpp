// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A signal stops the thread wherever the thread is: in a loop, in a wait for a mutex, in a system
// call. The handler uses only functions that the system allows in handlers, and `backtrace`, whose
// library is loaded beforehand.
#include "held_thread.h"

#include "sanitizer.h"

#include <execinfo.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace belfry::testing {

struct HeldThread::Hold {
  pthread_t thread{};
  int answered = ::eventfd(0, EFD_CLOEXEC);  // The thread stands still; then: goes on.
  int released = ::eventfd(0, EFD_CLOEXEC);  // The thread may go on.
  std::array<void*, 64> calls{};
  int depth = 0;
  Hold* before = nullptr;  // In the list of the objects that are never deleted.
};

namespace {

constexpr int kAnswerMs = 1000;
// The innermost calls: the handler, and the system's call of the handler.
constexpr std::size_t kOwnCalls = 2;

std::atomic<HeldThread::Hold*> current{nullptr};
HeldThread::Hold* kept = nullptr;  // A list: LeakSanitizer finds the objects there.

void write_one(int file) {
  const std::uint64_t one = 1;
  while (::write(file, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void wait_for(int file) {
  std::uint64_t count = 0;
  while (::read(file, &count, sizeof count) < 0 && errno == EINTR) {
  }
}

void stand_still(int /*signal*/) {
  const int error = errno;
  HeldThread::Hold* const hold = current.load(std::memory_order_acquire);
  if (hold != nullptr && ::pthread_equal(hold->thread, ::pthread_self()) != 0) {
    hold->depth = ::backtrace(hold->calls.data(), static_cast<int>(hold->calls.size()));
    write_one(hold->answered);
    wait_for(hold->released);
    write_one(hold->answered);
  }
  errno = error;
}

int stop_signal() {
  static const int number = [] {
    void* unused = nullptr;
    ::backtrace(&unused, 1);  // Loads the library of the unwinder.
    struct sigaction action{};
    action.sa_handler = stand_still;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    ::sigfillset(&action.sa_mask);
    const int chosen = SIGRTMAX - 1;
    ::sigaction(chosen, &action, nullptr);
    return chosen;
  }();
  return number;
}

}  // namespace

HeldThread::HeldThread(pthread_t thread) : hold_(new Hold) {
  if (kDelaysSignals) return;
  hold_->thread = thread;
  const int signal = stop_signal();
  current.store(hold_, std::memory_order_release);
  if (::pthread_kill(thread, signal) != 0) return;
  pollfd answer{hold_->answered, POLLIN, 0};
  int answers = 0;
  do {
    answers = ::poll(&answer, 1, kAnswerMs);
  } while (answers < 0 && errno == EINTR);
  is_held_ = answers == 1;
}

HeldThread::~HeldThread() {
  current.store(nullptr, std::memory_order_release);
  if (!is_held_ || is_kept_) {
    // The handler may still read the object, or begin to. A late answer goes on at once.
    if (!is_kept_) write_one(hold_->released);
    hold_->before = kept;
    kept = hold_;
    return;
  }
  wait_for(hold_->answered);
  write_one(hold_->released);
  wait_for(hold_->answered);
  ::close(hold_->answered);
  ::close(hold_->released);
  delete hold_;
}

std::span<void* const> HeldThread::calls() const {
  const auto depth = is_held_ ? static_cast<std::size_t>(hold_->depth) : 0;
  return std::span<void* const>(hold_->calls)
      .first(depth)
      .subspan(depth < kOwnCalls ? 0 : kOwnCalls);
}

}  // namespace belfry::testing
