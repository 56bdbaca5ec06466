// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "atomics.h"

// Atomic operations of 16 bytes, which GCC makes of std::atomic of a structure. By the instruction
// that libatomic uses too: a program may do without that library. clang calls libatomic, a function
// outside of watched code.
#ifdef __x86_64__
namespace {

using belfry::sim::watch::touch;

__extension__ using Wide = unsigned __int128;
using WideObject = volatile Wide*;

// Returns the value before. A load is an exchange of equal values.
template <class Change>
[[gnu::always_inline]] inline Wide change(WideObject at, bool writes, const void* pc,
                                          const Change& changed) {
  touch(at, sizeof(Wide), writes, pc);
  Wide before = 0;
  for (;;) {
    const Wide found = __sync_val_compare_and_swap(at, before, changed(before));
    if (found == before) return before;
    before = found;
  }
}

[[gnu::always_inline]] inline Wide exchange_if(WideObject at, Wide expected, Wide desired,
                                               const void* pc) {
  touch(at, sizeof(Wide), true, pc);
  return __sync_val_compare_and_swap(at, expected, desired);
}

}  // namespace

#define BELFRY_CHANGE(name, result)                                              \
  Wide __tsan_atomic128_##name(WideObject at, Wide value, int) {                 \
    return change(at, true, BELFRY_HERE, [=](Wide before) { return (result); }); \
  }
#define BELFRY_EXCHANGE_WIDE_IF(name)                                                            \
  int __tsan_atomic128_compare_exchange_##name(WideObject at, Wide* expected, Wide desired, int, \
                                               int) {                                            \
    const Wide found = exchange_if(at, *expected, desired, BELFRY_HERE);                         \
    if (found == *expected) return 1;                                                            \
    *expected = found;                                                                           \
    return 0;                                                                                    \
  }

extern "C" {

Wide __tsan_atomic128_load(WideObject at, int) {
  return change(at, false, BELFRY_HERE, [](Wide before) { return before; });
}
void __tsan_atomic128_store(WideObject at, Wide value, int) {
  change(at, true, BELFRY_HERE, [=](Wide) { return value; });
}
BELFRY_CHANGE(exchange, (static_cast<void>(before), value))
BELFRY_CHANGE(fetch_add, before + value)
BELFRY_CHANGE(fetch_sub, before - value)
BELFRY_CHANGE(fetch_and, before& value)
BELFRY_CHANGE(fetch_or, before | value)
BELFRY_CHANGE(fetch_xor, before ^ value)
BELFRY_CHANGE(fetch_nand, ~(before& value))
BELFRY_EXCHANGE_WIDE_IF(strong)
BELFRY_EXCHANGE_WIDE_IF(weak)
Wide __tsan_atomic128_compare_exchange_val(WideObject at, Wide expected, Wide desired, int, int) {
  return exchange_if(at, expected, desired, BELFRY_HERE);
}

}  // extern "C"
#endif
