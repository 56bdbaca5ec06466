// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host_watcher.h"

// Atomic operations in code compiled with -fsanitize=thread. Every operation is carried out with
// the strongest order of memory: schedules of replicas have no weaker one.
namespace belfry::sim::watch {

template <class T>
using Object = volatile T*;

[[gnu::always_inline]] inline void touch(const volatile void* at, std::size_t bytes, bool writes,
                                         const void* pc) {
  if (belfry_watch_counts == 0) {
    if (belfry_watch_active != 0) host_watcher().note_thread();
    return;
  }
  host_watcher().access(const_cast<const void*>(at), bytes,
                        {.writes = writes, .pc = pc, .maker = Maker::kAtomic});
}

// Changes of counts of owners by libstdc++ are of 4 bytes, by 1, with this order. The report asks
// the line tables whether the change is in libstdc++.
template <class T>
[[gnu::always_inline]] inline T add(Object<T> at, T value, int order, const void* pc) {
  const bool counts_owners =
      sizeof(T) == 4 && order == __ATOMIC_ACQ_REL && (value == T{1} || value == static_cast<T>(-1));
  if (!counts_owners) {
    touch(at, sizeof(T), true, pc);
    return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
  }
  const T before = __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
  if (belfry_watch_counts == 0) return before;
  host_watcher().access(const_cast<const T*>(at), sizeof(T),
                        {.writes = true,
                         .pc = pc,
                         .maker = Maker::kOwnerCount,
                         .releases_last_owner = value != T{1} && before == T{1}});
  return before;
}

}  // namespace belfry::sim::watch

#define BELFRY_HERE __builtin_return_address(0)
#define BELFRY_FETCH(bits, type, name)                                          \
  type __tsan_atomic##bits##_fetch_##name(volatile type* at, type value, int) { \
    touch(at, sizeof(type), true, BELFRY_HERE);                                 \
    return __atomic_fetch_##name(at, value, __ATOMIC_SEQ_CST);                  \
  }
#define BELFRY_EXCHANGE_IF(bits, type, name)                                           \
  int __tsan_atomic##bits##_compare_exchange_##name(volatile type* at, type* expected, \
                                                    type desired, int, int) {          \
    touch(at, sizeof(type), true, BELFRY_HERE);                                        \
    return __atomic_compare_exchange_n(at, expected, desired, false, __ATOMIC_SEQ_CST, \
                                       __ATOMIC_SEQ_CST)                               \
               ? 1                                                                     \
               : 0;                                                                    \
  }
#define BELFRY_ATOMICS(bits, type)                                                                \
  type __tsan_atomic##bits##_load(const volatile type* at, int) {                                 \
    touch(at, sizeof(type), false, BELFRY_HERE);                                                  \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                 \
  }                                                                                               \
  void __tsan_atomic##bits##_store(volatile type* at, type value, int) {                          \
    touch(at, sizeof(type), true, BELFRY_HERE);                                                   \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                \
  }                                                                                               \
  type __tsan_atomic##bits##_exchange(volatile type* at, type value, int) {                       \
    touch(at, sizeof(type), true, BELFRY_HERE);                                                   \
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                      \
  }                                                                                               \
  type __tsan_atomic##bits##_fetch_add(volatile type* at, type value, int order) {                \
    return add<type>(at, value, order, BELFRY_HERE);                                              \
  }                                                                                               \
  BELFRY_FETCH(bits, type, sub)                                                                   \
  BELFRY_FETCH(bits, type, and)                                                                   \
  BELFRY_FETCH(bits, type, or)                                                                    \
  BELFRY_FETCH(bits, type, xor)                                                                   \
  BELFRY_FETCH(bits, type, nand)                                                                  \
  BELFRY_EXCHANGE_IF(bits, type, strong)                                                          \
  BELFRY_EXCHANGE_IF(bits, type, weak)                                                            \
  type __tsan_atomic##bits##_compare_exchange_val(volatile type* at, type expected, type desired, \
                                                  int, int) {                                     \
    touch(at, sizeof(type), true, BELFRY_HERE);                                                   \
    __atomic_compare_exchange_n(at, &expected, desired, false, __ATOMIC_SEQ_CST,                  \
                                __ATOMIC_SEQ_CST);                                                \
    return expected;                                                                              \
  }
