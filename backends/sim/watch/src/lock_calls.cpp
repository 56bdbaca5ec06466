// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/current_slot.h"
#include "belfry/call_site.h"
#include "belfry/error.h"
#include "pointer_calls.h"
#include "source_lines.h"
#include "watched_call.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

// Mutexes. Replicas and bodies of kernels take turns on one thread: a mutex that the thread has
// already belongs to a replica or a caller that goes on after the present lock alone. Such a lock
// gets EDEADLK, which makes an error of std::mutex::lock.
namespace belfry::sim::watch {
namespace {

// The calls around a lock, the innermost first. The functions of std::mutex and of its owners have
// lines of headers.
constexpr std::size_t kCalls = 8;
using Calls = std::array<const void*, kCalls>;

// The return addresses of `frame` and of the frames around, as far as they lead to watched code:
// watched functions keep the pointer to the frame of their caller.
Calls calls_from(const void* frame) {
  Calls calls{};
  for (const void*& call : calls) {
    const auto* const words = static_cast<const void* const*>(frame);
    if (!is_watched_code(words[1])) break;
    call = words[1];
    frame = words[0];
  }
  return calls;
}

std::string line_of(const Calls& calls) {
  for (const void* const call : calls) {
    if (call == nullptr) break;
    const CallSite site = source_lines().users_site(static_cast<const char*>(call) - 1);
    if (!site.empty()) return " at " + to_string(site);
  }
  return {};
}

std::string name_of(int replica) {
  return replica < 0 ? "the program" : "replica " + std::to_string(replica);
}

// The last lock of a mutex. A second mutex in the place of the first costs the text a line.
struct Lock {
  std::atomic<const pthread_mutex_t*> mutex = nullptr;
  std::atomic<int> replica = -1;
  std::array<std::atomic<const void*>, kCalls> calls{};
};
constinit std::array<Lock, 64> last_locks{};

Lock& last_lock(const pthread_mutex_t* mutex) {
  return last_locks[reinterpret_cast<std::uintptr_t>(mutex) / 8 % last_locks.size()];
}

void keep(const pthread_mutex_t* mutex, const Calls& calls) {
  Lock& lock = last_lock(mutex);
  lock.mutex.store(mutex, std::memory_order_relaxed);
  lock.replica.store(belfry::detail::current_replica_id(), std::memory_order_relaxed);
  for (std::size_t k = 0; k < kCalls; ++k) {
    lock.calls[k].store(calls[k], std::memory_order_relaxed);
  }
}

// The text of a lock without an end.
std::string text_of(const pthread_mutex_t* mutex, const Calls& calls) {
  std::string text = "a mutex";
  const Lock& lock = last_lock(mutex);
  if (lock.mutex == mutex) {
    Calls earlier{};
    for (std::size_t k = 0; k < kCalls; ++k) earlier[k] = lock.calls[k];
    text += " that " + name_of(lock.replica) + " has locked" + line_of(earlier);
  }
  text += " is locked again" + line_of(calls) + " by ";
  text += belfry::detail::is_in_kernel() ? "the body of a kernel"
                                         : name_of(belfry::detail::current_replica_id());
  return text + ", and neither can go on";
}

// Whether the calling thread would wait for itself.
bool is_own(const pthread_mutex_t* mutex) {
  constexpr int kKinds = 127;
  const int kind = mutex->__data.__kind & kKinds;
  const bool waits = kind == PTHREAD_MUTEX_TIMED_NP || kind == PTHREAD_MUTEX_ADAPTIVE_NP;
  return waits && mutex->__data.__owner == ::gettid();
}

// The text for the error of the lock that has just got EDEADLK.
constinit thread_local std::string* deadlock = nullptr;

}  // namespace
}  // namespace belfry::sim::watch

extern "C" {

using belfry::sim::watch::calls_from;
using belfry::sim::watch::deadlock;
using belfry::sim::watch::host_watcher;

int watched_mutex_lock(pthread_mutex_t*) BELFRY_STANDS_FOR("pthread_mutex_lock");
int watched_mutex_lock(pthread_mutex_t* mutex) {
  host_watcher().note_lock();
  const auto calls = calls_from(__builtin_frame_address(0));
  if (::pthread_mutex_trylock(mutex) == EBUSY) {
    if (belfry::sim::watch::is_own(mutex)) {
      delete std::exchange(deadlock, new std::string(belfry::sim::watch::text_of(mutex, calls)));
      return EDEADLK;
    }
    const int failure = ::pthread_mutex_lock(mutex);
    if (failure != 0) return failure;
  }
  belfry::sim::watch::keep(mutex, calls);
  return 0;
}

int watched_mutex_trylock(pthread_mutex_t*) BELFRY_STANDS_FOR("pthread_mutex_trylock");
int watched_mutex_trylock(pthread_mutex_t* mutex) {
  host_watcher().note_lock();
  const int failure = ::pthread_mutex_trylock(mutex);
  if (failure == 0) belfry::sim::watch::keep(mutex, calls_from(__builtin_frame_address(0)));
  return failure;
}

/// How functions of the standard library in watched code throw std::system_error.
[[noreturn]] void watched_throw_system_error(int) BELFRY_STANDS_FOR("_ZSt20__throw_system_errori");
[[noreturn]] void watched_throw_system_error(int number) {
  const std::unique_ptr<std::string> text(std::exchange(deadlock, nullptr));
  if (number == EDEADLK && text != nullptr) {
    throw belfry::DeviceError(belfry::ErrorCode::kDeadlock, *text,
                              "hold no mutex across a launch, a merge, a wait or an access to a "
                              "variable: other replicas and bodies run meanwhile on the thread");
  }
  throw std::system_error(std::error_code(number, std::generic_category()));
}

}  // extern "C"
