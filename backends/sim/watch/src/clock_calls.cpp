// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "watched_call.h"

#include <pthread.h>
#include <sys/time.h>

#include <chrono>
#include <cstdint>
#include <ctime>

// Clocks. In a watch a clock goes on by an hour with each answer, in runs without a watch as usual:
// a body whose outcome depends on a clock does not repeat. Waits until a time of a clock are until
// the real time.
namespace belfry::sim::watch {

std::chrono::steady_clock::time_point watched_steady_now()
    BELFRY_STANDS_FOR("_ZNSt6chrono3_V212steady_clock3nowEv");
std::chrono::steady_clock::time_point watched_steady_now() {
  return std::chrono::steady_clock::now() +
         std::chrono::seconds(host_watcher().ask_clock("std::chrono::steady_clock"));
}

std::chrono::system_clock::time_point watched_system_now()
    BELFRY_STANDS_FOR("_ZNSt6chrono3_V212system_clock3nowEv");
std::chrono::system_clock::time_point watched_system_now() {
  return std::chrono::system_clock::now() +
         std::chrono::seconds(host_watcher().ask_clock("std::chrono::system_clock"));
}

namespace {

std::timespec real(const std::timespec& until) {
  return {until.tv_sec - host_watcher().seconds_ahead(), until.tv_nsec};
}

}  // namespace
}  // namespace belfry::sim::watch

extern "C" {

using belfry::sim::watch::host_watcher;
using belfry::sim::watch::real;
using belfry::sim::watch::writes;

int watched_clock_gettime(clockid_t, std::timespec*) BELFRY_STANDS_FOR("clock_gettime");
int watched_clock_gettime(clockid_t clock, std::timespec* to) {
  writes(to, sizeof *to, BELFRY_HERE);
  const int failure = ::clock_gettime(clock, to);
  if (failure == 0) to->tv_sec += host_watcher().ask_clock("clock_gettime");
  return failure;
}

int watched_gettimeofday(timeval*, void*) BELFRY_STANDS_FOR("gettimeofday");
int watched_gettimeofday(timeval* to, void* zone) {
  writes(to, sizeof *to, BELFRY_HERE);
  const int failure = ::gettimeofday(to, zone);
  if (failure == 0) to->tv_sec += host_watcher().ask_clock("gettimeofday");
  return failure;
}

std::time_t watched_time(std::time_t*) BELFRY_STANDS_FOR("time");
std::time_t watched_time(std::time_t* to) {
  const std::time_t now = std::time(nullptr) + host_watcher().ask_clock("time");
  if (to == nullptr) return now;
  writes(to, sizeof *to, BELFRY_HERE);
  return *to = now;
}

std::clock_t watched_clock() BELFRY_STANDS_FOR("clock");
std::clock_t watched_clock() {
  return std::clock() + host_watcher().ask_clock("clock") * CLOCKS_PER_SEC;
}

int watched_clockwait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const std::timespec*)
    BELFRY_STANDS_FOR("pthread_cond_clockwait");
int watched_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                      const std::timespec* until) {
  host_watcher().note_lock();
  const std::timespec real_until = real(*until);
  return ::pthread_cond_clockwait(condition, mutex, clock, &real_until);
}

int watched_timedwait(pthread_cond_t*, pthread_mutex_t*, const std::timespec*)
    BELFRY_STANDS_FOR("pthread_cond_timedwait");
int watched_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                      const std::timespec* until) {
  host_watcher().note_lock();
  const std::timespec real_until = real(*until);
  return ::pthread_cond_timedwait(condition, mutex, &real_until);
}

}  // extern "C"
