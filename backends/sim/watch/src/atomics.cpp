// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "atomics.h"

#include <cstdint>

using belfry::sim::watch::add;
using belfry::sim::watch::touch;

extern "C" {

BELFRY_ATOMICS(8, std::uint8_t)
BELFRY_ATOMICS(16, std::uint16_t)
BELFRY_ATOMICS(32, std::uint32_t)
BELFRY_ATOMICS(64, std::uint64_t)

void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

}  // extern "C"
