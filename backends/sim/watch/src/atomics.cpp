// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "atomics.h"

#include <cstdint>

namespace {

using belfry::sim::watch::host_watcher;
using belfry::sim::watch::Maker;
using belfry::sim::watch::touch;

template <class T>
using Object = volatile T*;

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

}  // namespace

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

extern "C" {

BELFRY_ATOMICS(8, std::uint8_t)
BELFRY_ATOMICS(16, std::uint16_t)
BELFRY_ATOMICS(32, std::uint32_t)
BELFRY_ATOMICS(64, std::uint64_t)

void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

}  // extern "C"
